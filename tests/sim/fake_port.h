// A FramePort without a kernel: frames are queued by hand and what is written is kept. It can
// refuse writes for a while, as a full interface does, or take only some of a batch. Frames that it
// refused stay the property of their reader, so it checks that nobody changes them meanwhile
// [S001-14]. It can segment in software what it writes, as ports do, and block in the middle of a
// frame.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "base/crc32c.h"
#include "lan_bridge/frame_port.h"
#include "lan_bridge/ports/frame_splitter.h"

namespace splitnic::sim {

class FakePort final : public lan::FramePort {
 public:
  explicit FakePort(const lan::MacAddress& mac) {
    state_.mac = mac;
    state_.link_up = true;
    state_.admin_up = true;
  }

  void queue(std::vector<std::byte> frame) { input_.push_back(std::move(frame)); }
  std::size_t queued() const { return input_.size(); }
  // Called with every frame that is written.
  std::function<void(base::Bytes)> on_write;
  bool writes_blocked = false;
  std::size_t writes_max = SIZE_MAX;  // of one batch
  bool has_software_gso = false;      // super-frames and partial checksums leave as finished frames
  std::size_t writes_left = SIZE_MAX;  // frames that the interface takes before it blocks
  std::vector<bool> attach_calls;      // the argument of each attach_queue()
  std::vector<bool> shared_calls;      // the argument of each share_output()
  lan::PortState& mutable_state() { return state_; }
  bool carrier = false;
  // Refused frames that were changed before they were offered again.
  std::uint64_t changed_frames() const { return changed_; }
  // A refused frame is not expected again: its memory is gone.
  void forget_refused() { refused_.clear(); }

  lan::ReadBatch read(lan::FrameRing& ring, std::span<base::Bytes> out) override {
    lan::ReadBatch batch;
    while (batch.frames < out.size() && !input_.empty()) {
      const base::MutableBytes room = ring.reserve();
      if (room.empty()) break;
      const std::vector<std::byte>& frame = input_.front();
      std::memcpy(room.data(), frame.data(), frame.size());
      ring.commit(room.data() + frame.size());
      out[batch.frames++] = room.first(frame.size());
      input_.pop_front();
      ++read_frames;
    }
    batch.more = !input_.empty();
    return batch;
  }
  std::size_t write(std::span<const base::Bytes> frames) override {
    compare_refused(frames);
    flush();
    const std::size_t most = std::min(frames.size(), writes_max);
    std::size_t taken = 0;
    for (; taken < most && !write_pending(); ++taken) {
      const base::Bytes frame = frames[taken];
      if (has_software_gso && lan::offloads_used(lan::VnetHeader::parse(frame)) != 0) {
        software_gso_.write(frame, [this](base::Bytes piece) { return send(piece); });
      } else if (!send(frame)) {
        break;
      }
    }
    if (taken < frames.size()) keep_refused(frames.subspan(taken));
    return taken;
  }
  bool write_pending() const override { return software_gso_.is_pending(); }
  void flush() override {
    software_gso_.flush([this](base::Bytes piece) { return send(piece); });
  }
  void share_output(bool is_shared) override { shared_calls.push_back(is_shared); }
  base::Status attach_queue(bool is_attached) override {
    attach_calls.push_back(is_attached);
    return {};
  }
  int fd() const override { return -1; }
  lan::PortState state() override { return state_; }
  base::Status set_mtu(std::uint32_t mtu) override {
    ++mtu_calls;
    if (mtu > mtu_max) return base::Error("Invalid argument");
    state_.mtu = mtu;
    return {};
  }
  base::Status set_speed(std::uint32_t, bool) override {
    ++speed_calls;
    return {};
  }
  base::Status set_mac(const lan::MacAddress& mac) override {
    ++mac_calls;
    if (mac == refused_mac) return base::Error("Device or resource busy");
    state_.mac = mac;
    return {};
  }
  base::Status set_receive_filter(const lan::ReceiveFilter& filter) override {
    receive_filter = filter;
    return {};
  }
  base::Status set_promiscuous(bool on) override {
    state_.promiscuous = on;
    return {};
  }
  base::Status set_carrier(bool up) override {
    ++carrier_calls;
    carrier = up;
    return {};
  }
  std::uint32_t offloads() const override {
    return lan::kOffloadChecksum | lan::kOffloadTso4 | lan::kOffloadTso6 | lan::kOffloadUso |
           lan::kOffloadVlan | lan::kOffloadVnet;
  }
  base::Status set_offloads(std::uint32_t mask) override {
    offloads_set = mask;
    return {};
  }
  void set_frame_bytes_max(std::size_t bytes) override { frame_bytes_max = bytes; }
  std::string name() const override { return "fake"; }
  void visit_counters(const base::CounterVisitor& visitor) const override {
    visitor("rx.frames", read_frames);
    visitor("tx.frames", written_frames);
    visitor("tx.split", counters_[lan::PortCounter::kTxSplit]);
    visitor("tx.drop.invalid", counters_[lan::PortCounter::kTxDropInvalid]);
  }

  lan::ReceiveFilter receive_filter{.promiscuous = true};  // as ports are opened
  std::optional<lan::MacAddress> refused_mac{};            // that set_mac() refuses
  std::uint64_t mac_calls = 0;
  std::uint32_t mtu_max = UINT32_MAX;  // set_mtu() refuses more
  std::uint64_t mtu_calls = 0;
  std::uint64_t speed_calls = 0;
  std::uint64_t carrier_calls = 0;
  std::optional<std::uint32_t> offloads_set{};  // none: set_offloads() was not called
  std::size_t frame_bytes_max = 0;              // 0: the same of set_frame_bytes_max()
  std::uint64_t read_frames = 0;
  std::uint64_t written_frames = 0;

 private:
  static constexpr std::size_t kRefusedKept = 4;
  struct Refused {
    const std::byte* at;
    std::size_t bytes;
    std::uint32_t crc;
  };
  bool send(base::Bytes frame) {
    if (writes_blocked || writes_left == 0) return false;
    if (writes_left != SIZE_MAX) --writes_left;
    ++written_frames;
    if (on_write) on_write(frame);
    return true;
  }
  // The vnet header is left out: its reader rewrites it before each attempt.
  static Refused describe(base::Bytes frame) {
    return {frame.data(), frame.size(), base::crc32c(frame.subspan(lan::kVnetHeaderBytes))};
  }
  void keep_refused(std::span<const base::Bytes> frames) {
    for (const base::Bytes frame : frames.first(std::min(frames.size(), kRefusedKept))) {
      refused_.push_back(describe(frame));
    }
  }
  void compare_refused(std::span<const base::Bytes> frames) {
    const std::size_t count = std::min(frames.size(), refused_.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Refused now = describe(frames[i]);
      const Refused& then = refused_[i];
      if (now.at != then.at || now.bytes != then.bytes || now.crc != then.crc) ++changed_;
    }
    refused_.clear();
  }

  std::deque<std::vector<std::byte>> input_;
  std::vector<Refused> refused_;
  std::uint64_t changed_ = 0;
  lan::PortState state_;
  base::Counters<lan::PortCounter> counters_;
  lan::WriteSplitter software_gso_{counters_};
};

}  // namespace splitnic::sim
