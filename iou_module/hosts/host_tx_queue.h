// The frames that wait for one host, in memory of the host alone: what does not fit is dropped and
// counted for it, and no other host notices [S001-08]. A frame is queued as the host takes it: with
// the VLAN tag that its settings have, and in pieces if it is too long for an element or uses an
// offload that the host does not take. HostDelivery pushes them. Frames are [virtio-net
// header][Ethernet frame]. Thread: the data thread.
//
// `frame_bytes_max` is that of messaging::Connection: the length of an element.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/page_memory.h"
#include "base/ring.h"
#include "base/status.h"
#include "iou_module/hosts/host_stats.h"
#include "iou_module/hosts/nic_settings.h"
#include "iou_module/hosts/vlan_rules.h"
#include "lan_bridge/frame_ring.h"

namespace splitnic::iou {

class HostTxQueue {
 public:
  // All outlive it. `frames_max`: frames that wait.
  HostTxQueue(const NicSettings& nic, const VlanLimit& limit,
              base::Counters<AttachedHostCounter>& counters, std::size_t frames_max)
      : nic_(nic), limit_(limit), counters_(counters), pending_(frames_max) {}

  // Without memory, as at first, nothing can be queued. REQUIRES bytes >= 2 * lan::kFrameReserve.
  base::Status allocate(std::size_t bytes);
  base::MutableBytes arena() const { return memory_.span(); }
  // A reader may read into it, and then queues or discards each frame in the order of the ring.
  lan::FrameRing& ring() { return ring_; }
  // A reader finds room in ring() for any frame.
  bool has_room() { return !ring_.reserve().empty(); }

  // Returns true if the frame fits into one element and uses only offloads that the host takes.
  bool fits(base::Bytes frame, std::size_t frame_bytes_max) const;
  // Queues a frame that lies in ring() already (committed there), or drops and counts it. REQUIRES
  // that it fits and that every frame committed before it is queued or discarded: the ring is
  // released in the order of commits.
  void queue_own(base::Bytes frame, std::size_t frame_bytes_max);
  // The same for a frame that lies elsewhere.
  void queue_copy(base::Bytes frame, std::size_t frame_bytes_max);

  bool empty() const { return pending_.empty(); }
  std::size_t size() const { return pending_.size(); }  // in frames
  std::size_t bytes() const { return bytes_; }
  // The oldest frame. REQUIRES that there is one.
  base::Bytes front() { return pending_.front(); }
  // The oldest frame was pushed: it stays in the ring until release(). REQUIRES that there is one.
  void pop() {
    bytes_ -= pending_.front().size();
    pending_.pop();
  }
  // The push of the oldest frame in the ring has completed.
  void release() { ring_.release(); }

 private:
  VlanRules::Verdict vlan_verdict(base::Bytes frame) const {
    const bool is_permitted = !limit_.is_restricted() || limit_.passes(frame, 0);
    return is_permitted ? nic_.vlans.to_host(frame) : VlanRules::Verdict::kDrop;
  }
  bool takes_offloads_of(const lan::VnetHeader& header) const;
  base::MutableBytes room_for(std::size_t bytes);
  void queue_fitting(base::Bytes frame, std::size_t frame_bytes_max);
  void queue_split(base::Bytes frame, std::size_t frame_bytes_max);
  void queue_finished(base::Bytes frame);
  void enqueue(base::Bytes frame) {
    pending_.push(frame);
    bytes_ += frame.size();
  }

  const NicSettings& nic_;
  const VlanLimit& limit_;
  base::Counters<AttachedHostCounter>& counters_;
  base::PageMemory memory_;
  lan::FrameRing ring_;
  base::Ring<base::Bytes> pending_;  // frames in the ring, not pushed yet
  std::size_t bytes_ = 0;            // of those
};

}  // namespace splitnic::iou
