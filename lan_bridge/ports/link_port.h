// The base of the ports on a kernel interface: the interface's state and settings, the
// offloads in force, the counters, and software GSO for frames that the interface cannot take as
// they are. Thread: the data thread of its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/log.h"
#include "lan_bridge/frame_port.h"
#include "lan_bridge/ports/frame_splitter.h"
#include "lan_bridge/ports/netlink_link.h"

namespace splitnic::lan {

// Of a port with several queues: queue 0 owns the interface, the others observe it.
enum class QueueRole : std::uint8_t { kOwner, kObserver };

class LinkPort : public FramePort {
 public:
  int event_fd() const override { return link_->event_fd(); }
  PortState state() override { return link_->state(); }
  std::uint64_t changes() const override { return link_->changes(); }
  bool is_gone() const override { return link_->is_gone(); }
  bool is_back() const override { return link_->is_back(); }
  base::Status set_mtu(std::uint32_t mtu) override {
    return observes() ? base::Status() : link_->set_mtu(mtu);
  }
  base::Status set_mac(const MacAddress& mac) override {
    return observes() ? base::Status() : link_->set_mac(mac);
  }
  base::Status set_promiscuous(bool /*on*/) override { return {}; }
  base::Status set_carrier(bool /*up*/) override { return {}; }
  std::uint32_t offloads() const override { return offloads_; }
  base::Status set_offloads(std::uint32_t mask) override {
    offloads_ = offloads_in_force(mask & offloads_supported_) | kOffloadsAlways;
    splitter_.offloads = offloads_;
    return {};
  }
  void set_frame_bytes_max(std::size_t bytes) override { splitter_.frame_bytes_max = bytes; }
  std::string name() const override { return name_; }
  std::size_t write(std::span<const base::Bytes> frames) override;
  bool write_pending() const override { return software_gso_.is_pending(); }
  void flush() override {
    software_gso_.flush([this](base::Bytes piece) { return send_one(piece); });
  }
  void visit_counters(const base::CounterVisitor& visitor) const override {
    counters_.visit(visitor);
    visitor("rx.drop.kernel", kernel_drops());
  }

 protected:
  LinkPort(std::string name, std::unique_ptr<NetlinkLink> link, QueueRole role = QueueRole::kOwner)
      : name_(std::move(name)), link_(std::move(link)), role_(role) {}

  // Returns true if the port changes nothing of the interface.
  bool observes() const { return role_ == QueueRole::kObserver; }
  // Sets the MTU at the start; 0 leaves it as it is.
  base::Status begin_with_mtu(std::uint32_t mtu) {
    return mtu == 0 || mtu == link_->state().mtu ? base::Status() : link_->set_mtu(mtu);
  }
  // Returns the number of frames that the kernel dropped before the port could read them.
  virtual std::uint64_t kernel_drops() const = 0;
  // Passes the first of these frames to the kernel as they are, in one system call. Returns how
  // many were sent, and counted; 0: the first one is left to send_one().
  virtual std::size_t send_batch(std::span<const base::Bytes> /*frames*/) { return 0; }
  // Passes a frame to the kernel as it is. Returns false if it would block; else the frame was
  // sent or dropped, and counted, or segmented in software.
  virtual bool send_one(base::Bytes frame) = 0;
  // Sends the frame as finished frames (software GSO). REQUIRES !write_pending().
  void segment_in_software(base::Bytes frame) {
    software_gso_.write(frame, [this](base::Bytes piece) { return send_one(piece); });
  }
  // The same for a super-frame that this kernel refused as it was; the first one is logged. The
  // offload stays on: the fault may be in this frame only, and other hosts use the port too.
  void segment_refused(base::Bytes frame) {
    if (!std::exchange(is_refusal_logged_, true)) {
      base::log_warn(name_ +
                     ": the kernel refuses a super-frame: such frames are segmented in software");
    }
    segment_in_software(frame);
  }
  void count_sent(base::Bytes frame) {
    counters_.add(PortCounter::kTxFrames);
    counters_.add(PortCounter::kTxBytes, frame.size() - kVnetHeaderBytes);
  }
  static bool is_short(base::Bytes frame) {
    return frame.size() < kVnetHeaderBytes + kEthernetBytes;
  }
  // Returns true if the interface takes the frame as it is. REQUIRES !is_short(frame).
  bool can_send_whole(base::Bytes frame) const {
    return (offloads_used(VnetHeader::parse(frame)) & ~(offloads_ & offloads_sent_)) == 0;
  }

  std::string name_;
  std::unique_ptr<NetlinkLink> link_;
  std::uint32_t offloads_supported_ = kOffloadsAll;
  std::uint32_t offloads_ = kOffloadsAll;
  std::uint32_t offloads_sent_ = kOffloadsAll;  // that the port can send at all
  base::Counters<PortCounter> counters_;
  ReadSplitter splitter_{counters_};
  WriteSplitter software_gso_{counters_};
  bool is_refusal_logged_ = false;

 private:
  QueueRole role_;
};

}  // namespace splitnic::lan
