// The frames for one host, from the LAN and from other hosts, until the host has them: they wait in
// a HostTxQueue, and HostDelivery pushes them to the host's connection when they may leave. Frames
// are [virtio-net header][Ethernet frame]. Thread: the data thread.
#pragma once

#include <cstddef>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/status.h"
#include "iou_module/hosts/host_delivery.h"
#include "iou_module/hosts/host_stats.h"
#include "iou_module/hosts/host_tx_queue.h"
#include "iou_module/hosts/nic_settings.h"
#include "iou_module/hosts/vlan_rules.h"
#include "messaging/connection.h"

namespace splitnic::iou {

class HostTx {
 public:
  // All outlive it, but `connection`, which reads the frames: it is made after this object and
  // destroyed before it. `frames_max`: frames that wait.
  HostTx(messaging::Connection& connection, const NicSettings& nic, const VlanLimit& limit,
         HostStats& stats, std::size_t frames_max)
      : connection_(connection),
        nic_(nic),
        stats_(stats),
        queue_(nic, limit, stats.counters, frames_max) {}

  // As HostTxQueue::allocate(); the connection may read that memory from now on.
  base::Status allocate(std::size_t bytes) {
    if (auto allocated = queue_.allocate(bytes); !allocated) return allocated;
    return connection_.register_frames(queue_.arena());
  }
  // The coalescing or the service levels of the settings are others, or may be. A connection knows
  // the levels of its queues once it is up.
  void on_settings() { delivery_.set(nic_, connection_.levels()); }

  HostTxQueue& queue() { return queue_; }
  const HostTxQueue& queue() const { return queue_; }
  // These are as in HostTxQueue, with the elements of the connection.
  bool fits(base::Bytes frame) const { return queue_.fits(frame, connection_.frame_bytes_max()); }
  void queue_own(base::Bytes frame) { queue_.queue_own(frame, connection_.frame_bytes_max()); }
  void queue_copy(base::Bytes frame) { queue_.queue_copy(frame, connection_.frame_bytes_max()); }

  // Releases what has been delivered and pushes what waits. Returns true if it made progress.
  bool pump(base::Time now) { return delivery_.pump(connection_, queue_, stats_, now); }
  // Nothing is pushed before `at`: another queue pushes earlier frames of the same flows.
  void hold_until(base::Time at) { delivery_.hold_until(at); }
  // Returns when a frame that is held may leave; kNever if none is.
  base::Time deadline() const { return delivery_.deadline(); }
  // Counts the frames that end with the connection, by reason. REQUIRES that it is not closed yet.
  void count_ended() {
    stats_.count(AttachedHostCounter::kDropToHostEnded, queue_.size());
    stats_.count(AttachedHostCounter::kLost, connection_.pushes_in_flight());
  }

 private:
  messaging::Connection& connection_;
  const NicSettings& nic_;
  HostStats& stats_;
  HostTxQueue queue_;
  HostDelivery delivery_;
};

}  // namespace splitnic::iou
