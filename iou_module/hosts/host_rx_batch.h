// The received frames of one host that are not yet forwarded, oldest first. Each is checked once:
// its verdict (for the LAN or not, with which VLAN tag) holds however long it waits for the LAN
// port, because settings may change meanwhile, and other hosts have their copies already. Verdicts
// are recorded in the order of the frames.
//
// A frame stays in its pool element or receive slot until the owner releases it after take(), which
// is the host's back pressure. Nothing is allocated per frame. Thread: the data thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "lan_bridge/frame/wire_bytes.h"
#include "messaging/connection.h"

namespace splitnic::iou {

class HostRxBatch {
 public:
  static constexpr std::size_t kFramesMax = 64;
  // Batches per loop iteration: as many frames as the send mode has receive slots, where a frame
  // that is not received blocks the slot of the next one.
  static constexpr unsigned kBatchesMax = 8;

  struct Verdict {
    bool is_for_lan = false;     // false: it was dropped, or delivered to another host
    std::uint16_t vlan_tag = 0;  // with which it leaves; 0: as it is
    lan::WireCost cost{};        // that its host is charged for it
  };

  void begin_iteration() { batches_left_ = kBatchesMax; }
  // Receives the next batch if this one is empty. Returns whether a frame waits; false also if this
  // iteration has had its batches. `source` is a messaging::Connection.
  template <class Source>
  bool refill(Source& source) {
    if (!empty()) return true;
    const std::size_t arrived = std::min(kFramesMax, source.unreceived());
    if (arrived == 0 || batches_left_ == 0) return false;
    --batches_left_;
    count_ = source.receive(std::span(frames_).first(arrived));
    taken_ = checked_ = 0;
    return !empty();
  }

  std::size_t size() const { return count_ - taken_; }
  bool empty() const { return count_ == taken_; }
  // Index 0 is the oldest frame. REQUIRES index < size().
  base::MutableBytes frame(std::size_t index) const { return frames_[taken_ + index].bytes; }
  bool is_checked(std::size_t index) const { return taken_ + index < checked_; }
  // REQUIRES is_checked(index).
  const Verdict& verdict(std::size_t index) const { return verdicts_[taken_ + index]; }
  // Records the verdict of the oldest frame that has none. REQUIRES that there is one.
  void set_next_verdict(const Verdict& verdict) { verdicts_[checked_++] = verdict; }
  // Removes the oldest frame. REQUIRES is_checked(0). The reference is valid until refill().
  const messaging::ReceivedFrame& take() { return frames_[taken_++]; }

  // Of the frames that wait: how many are checked and not for the LAN, and their bytes together.
  std::size_t not_for_lan() const {
    std::size_t count = 0;
    for (std::size_t at = taken_; at < checked_; ++at) count += verdicts_[at].is_for_lan ? 0 : 1;
    return count;
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (std::size_t index = 0; index < size(); ++index) sum += frame(index).size();
    return sum;
  }

 private:
  std::array<messaging::ReceivedFrame, kFramesMax> frames_{};
  std::array<Verdict, kFramesMax> verdicts_{};
  std::size_t count_ = 0;    // frames of this batch
  std::size_t taken_ = 0;    // of these, from the first
  std::size_t checked_ = 0;  // taken_ <= checked_ <= count_
  unsigned batches_left_ = 0;
};

}  // namespace splitnic::iou
