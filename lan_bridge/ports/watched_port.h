// A port whose frames can be copied while it is used, for `splitnic capture`: it passes everything
// to the port below. Without a capture it costs one call per batch.
// Thread: the data thread of its owner.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/counters.h"
#include "lan_bridge/frame/frame_copies.h"
#include "lan_bridge/frame_port.h"

namespace splitnic::lan {

enum class WatchCounter : std::uint8_t { kFrames, kDropFull, kCount_ };

class WatchedPort final : public FramePort {
 public:
  // Who reads from the port is the machine's network (a NIC), which the interface has received them
  // from, or the system above it (a TAP), whose frames the interface sends.
  enum class Reads : std::uint8_t { kReceived, kSent };

  // `clock` outlives this.
  WatchedPort(std::unique_ptr<FramePort> below, base::Clock& clock, Reads reads)
      : below_(std::move(below)), clock_(clock), reads_(reads) {}

  // From now on frames are copied there, until it has ended, in place of where they were before.
  void copy_to(std::shared_ptr<FrameCopies> copies) { copies_ = std::move(copies); }
  const base::Counters<WatchCounter>& watch_counters() const { return counters_; }

  ReadBatch read(FrameRing& ring, std::span<base::Bytes> out) override;
  std::size_t write(std::span<const base::Bytes> frames) override;

  bool write_pending() const override { return below_->write_pending(); }
  void flush() override { below_->flush(); }
  void share_output(bool is_shared) override { below_->share_output(is_shared); }
  bool needs_privilege_to_share() const override { return below_->needs_privilege_to_share(); }
  base::Status attach_queue(bool is_attached) override { return below_->attach_queue(is_attached); }
  int fd() const override { return below_->fd(); }
  int write_fd() const override { return below_->write_fd(); }
  int event_fd() const override { return below_->event_fd(); }
  bool input_ended() const override { return below_->input_ended(); }
  bool input_waits() const override { return below_->input_waits(); }
  PortState state() override { return below_->state(); }
  std::uint64_t changes() const override { return below_->changes(); }
  bool is_gone() const override { return below_->is_gone(); }
  bool is_back() const override { return below_->is_back(); }
  bool can_return() const override { return below_->can_return(); }
  base::Result<Descriptors> return_by(base::UniqueFd socket) override {
    return below_->return_by(std::move(socket));
  }
  bool is_elsewhere() const override { return below_->is_elsewhere(); }
  base::Status set_mtu(std::uint32_t mtu) override { return below_->set_mtu(mtu); }
  base::Status set_mac(const MacAddress& mac) override { return below_->set_mac(mac); }
  base::Status set_promiscuous(bool on) override { return below_->set_promiscuous(on); }
  base::Status set_receive_filter(const ReceiveFilter& filter) override {
    return below_->set_receive_filter(filter);
  }
  base::Status set_carrier(bool up) override { return below_->set_carrier(up); }
  base::Status set_speed(std::uint32_t mbps, bool is_full_duplex) override {
    return below_->set_speed(mbps, is_full_duplex);
  }
  std::uint32_t offloads() const override { return below_->offloads(); }
  base::Status set_offloads(std::uint32_t mask) override { return below_->set_offloads(mask); }
  std::string name() const override { return below_->name(); }
  void set_frame_bytes_max(std::size_t bytes) override { below_->set_frame_bytes_max(bytes); }
  void visit_counters(const base::CounterVisitor& visitor) const override {
    below_->visit_counters(visitor);
  }

 private:
  void copy(std::span<const base::Bytes> frames, bool is_sent);

  std::unique_ptr<FramePort> below_;
  base::Clock& clock_;
  const Reads reads_;
  std::shared_ptr<FrameCopies> copies_;  // null: nobody reads them
  base::Counters<WatchCounter> counters_;
};

}  // namespace splitnic::lan

template <>
struct splitnic::base::CounterNames<splitnic::lan::WatchCounter> {
  static constexpr std::array<std::string_view, 2> kNames{"capture.frames", "capture.drop.full"};
};
