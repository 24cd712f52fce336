// Schedules the frames that wait for one host, and selects the queue of its connection for each.
// Frames are held while another queue pushes earlier frames of the same flows and while they are
// coalesced (coalescer.h). A frame has the queue of its service level, or of its flow. Thread: the
// data thread. docs/nic_service.md#coalescing docs/protocol/channels.md#queues
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "iou_module/hosts/coalescer.h"
#include "iou_module/hosts/host_stats.h"
#include "iou_module/hosts/host_tx_queue.h"
#include "iou_module/hosts/nic_settings.h"
#include "lan_bridge/frame/flow.h"
#include "lan_bridge/frame/traffic_class.h"
#include "messaging/cfgutil/qos_map.h"

namespace splitnic::iou {

class HostDelivery {
 public:
  // The coalescing and the service levels of `nic` are in force from now on. `levels`: those of the
  // connection's queues 1, 2 and so on.
  void set(const NicSettings& nic, const std::vector<std::uint8_t>& levels) {
    coalescer_.set(nic.coalescing);
    qos_queues_ = messaging::QosQueues(nic.qos, levels);
  }
  // Nothing is pushed before `at`.
  void hold_until(base::Time at) { held_until_ = at; }
  // Returns when a frame that is held may leave; kNever if none is.
  base::Time deadline() const { return std::min(held_until_, coalescer_.deadline()); }

  // Releases what has been delivered and pushes what waits. Returns true if it made progress.
  // `connection` is a messaging::Connection.
  template <class Connection>
  bool pump(Connection& connection, HostTxQueue& frames, HostStats& stats, base::Time now) {
    bool made_progress = false;
    for (std::size_t done = connection.take_completed(); done > 0; --done) {
      frames.release();
      made_progress = true;
    }
    if (is_held(frames, now)) return made_progress;
    while (!frames.empty() && push(connection, frames.front(), now)) {
      stats.count_to_host(frames.front());
      frames.pop();
      made_progress = true;
    }
    return made_progress;
  }

 private:
  bool is_held(const HostTxQueue& frames, base::Time now) {
    if (held_until_ != base::kNever) {
      if (now < held_until_) return true;
      held_until_ = base::kNever;
    }
    return coalescer_.is_on() && coalescer_.holds(frames.size(), frames.bytes(), now);
  }
  template <class Connection>
  bool push(Connection& connection, base::Bytes frame, base::Time now) {
    if (connection.queues() == 1) return connection.push(frame, 0, now);
    if (!qos_queues_.is_on()) return connection.push(frame, lan::flow_of(frame), now);
    const lan::TrafficClass found = lan::class_of(frame);
    return connection.push_on(qos_queues_.queue_of(found.priority, found.code_point), frame, now);
  }

  base::Time held_until_ = base::kNever;  // kNever: nothing is held
  Coalescer coalescer_;
  messaging::QosQueues qos_queues_;
};

}  // namespace splitnic::iou
