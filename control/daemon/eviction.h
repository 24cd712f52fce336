// The reply to `evict` for a host that queue 0 does not have: each other queue may have a
// connection of it. The last queue that has searched for the host sends the reply. Threads: each
// queue calls end_queue() in its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "control/socket/requests.h"

namespace splitnic::control {

class Eviction {
 public:
  // `refusal` is the reply if no queue has the host. `queues` calls of end_queue() follow.
  Eviction(ReplyFunction reply, Reply refusal, std::size_t queues)
      : reply_(std::move(reply)), refusal_(std::move(refusal)), unfinished_(queues) {}

  // Replaces the refusal. REQUIRES that a call of end_queue() by the same thread follows.
  void set_refusal(Reply refusal) { refusal_ = std::move(refusal); }
  void end_queue(bool is_evicted) {
    if (is_evicted) is_evicted_.store(true, std::memory_order_relaxed);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    reply_(is_evicted_.load(std::memory_order_relaxed) ? Reply{ReplyStatus::kOk, ""} : refusal_);
  }

 private:
  const ReplyFunction reply_;
  Reply refusal_;
  std::atomic<std::size_t> unfinished_;
  std::atomic<bool> is_evicted_ = false;
};

}  // namespace splitnic::control
