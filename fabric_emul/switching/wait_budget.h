// Limits how long an output delays its inputs: kWaitMax for each kBytes that it accepts, in one
// piece or in many. A receiver that is slower has spent its budget: what does not fit is dropped at
// once, until it has accepted kBytes. So one that has stopped, or that accepts a little at a time,
// delays nobody for longer. A switch that did not run does not know what an output would have
// accepted, so a long time without a look at it counts as a short one. Time comes in; pure.
// [S000-45]
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/clock.h"

namespace splitnic::fabric {

class WaitBudget {
 public:
  static constexpr base::Duration kWaitMax = std::chrono::milliseconds(100);
  static constexpr std::size_t kBytes = 256 * 1024;
  // Of the time between two looks; the switch looks every 5 ms at least while it runs.
  static constexpr base::Duration kCountedMax = std::chrono::milliseconds(10);

  bool is_spent() const { return waited_ >= kWaitMax; }
  // The output has taken this many bytes.
  void on_taken(std::size_t bytes) {
    taken_ += bytes;
    if (taken_ < kBytes) return;
    taken_ = 0;
    waited_ = {};
  }
  // Something waits from now on, or has begun to leave: time until now is not counted.
  void start(base::Time now) { counted_until_ = now; }
  // Something has waited until now, and nothing of it fits.
  void on_wait(base::Time now) {
    waited_ += std::min<base::Duration>(now - counted_until_, kCountedMax);
    counted_until_ = now;
  }

 private:
  base::Duration waited_{};  // since it has taken kBytes
  std::size_t taken_ = 0;    // since then
  base::Time counted_until_{};
};

}  // namespace splitnic::fabric
