// Decides when the user of pools requests more elements with BufferRecvPoolGet: when frames waited
// for an element during at least half of a span of 100 ms, at most once per second. The owner may
// ignore the request. One thread. docs/protocol/pools.md#more-pools [S001-13]
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace splitnic::messaging {

class ElementShortage {
 public:
  static constexpr base::Duration kSpan = std::chrono::milliseconds(100);
  static constexpr base::Duration kRequestInterval = std::chrono::seconds(1);

  // A frame found no element. Returns true if more elements are to be requested now.
  bool on_wait(base::Time now) {
    if (waiting_since_ == base::kNever) waiting_since_ = now;
    const base::Duration span = now - span_start_;
    if (span < kSpan) return false;
    const base::Duration waited = waited_ + (now - std::max(waiting_since_, span_start_));
    const bool is_persistent = 2 * waited >= span;
    span_start_ = now;
    waited_ = base::Duration{0};
    if (!is_persistent || now < next_request_) return false;
    next_request_ = now + kRequestInterval;
    return true;
  }
  // A frame found an element: the wait is over.
  void on_found(base::Time now) {
    if (waiting_since_ == base::kNever) return;
    waited_ += now - waiting_since_;
    waiting_since_ = base::kNever;
  }

 private:
  base::Time waiting_since_ = base::kNever;
  base::Time span_start_{};
  base::Duration waited_{0};  // in this span, without the present wait
  base::Time next_request_{};
};

}  // namespace splitnic::messaging
