// The frames from one host, from its connection to LanTx: a HostRxBatch of received ones, and the
// share of the LAN that the host has left in this round. Thread: the data thread.
#pragma once

#include <cstddef>

#include "base/clock.h"
#include "iou_module/hosts/deficit_round_robin.h"
#include "iou_module/hosts/host_life.h"
#include "iou_module/hosts/host_rx_batch.h"
#include "iou_module/hosts/host_stats.h"
#include "messaging/connection.h"

namespace splitnic::iou {

class HostRx {
 public:
  // All outlive it, but `connection`, which is made after this object and destroyed before it.
  HostRx(messaging::Connection& connection, const HostLife& life, HostStats& stats)
      : connection_(connection), life_(life), stats_(stats) {}

  // The frames are forwarded: also those that the host sent before the unit began to stop.
  bool is_heard() const {
    return life_.state() == HostState::kClosing ||
           (life_.state() == HostState::kAttached && connection_.up());
  }
  // Received frames that are not forwarded yet.
  HostRxBatch& batch() { return batch_; }
  const HostRxBatch& batch() const { return batch_; }
  // As HostRxBatch::refill().
  bool refill() { return batch_.refill(connection_); }
  // Counts the oldest received frame as forwarded or dropped, and releases it.
  void finish(base::Time now) {
    const messaging::ReceivedFrame& frame = batch_.take();
    stats_.count_from_host(frame.bytes);
    connection_.release(frame, now);
  }
  DeficitRoundRobin::Deficit& deficit() { return deficit_; }

  // Frames that the host has sent and that are not forwarded yet, whether received or not.
  std::size_t waiting() const { return connection_.unreceived() + batch_.size(); }
  // Counts them as ended with the connection. REQUIRES that it is not closed yet.
  void count_ended(base::Time now) {
    connection_.collect_arrived(now);
    stats_.count(AttachedHostCounter::kFromHostFrames, waiting());
    stats_.count(AttachedHostCounter::kFromHostBytes, batch_.bytes());
    // Frames that are not for the LAN are counted already; they wait only for those before them.
    stats_.count(AttachedHostCounter::kDropEnded, waiting() - batch_.not_for_lan());
  }

 private:
  messaging::Connection& connection_;
  const HostLife& life_;
  HostStats& stats_;
  HostRxBatch batch_;
  DeficitRoundRobin::Deficit deficit_;
};

}  // namespace splitnic::iou
