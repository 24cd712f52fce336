// A limit on how often something may happen: `burst` times at once, and then once per `interval`.
// The generic cell rate algorithm of ITU-T I.371 in one time stamp. Time comes in; pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace splitnic::base {

class RateLimit {
 public:
  constexpr RateLimit(Duration interval, std::uint32_t burst)
      : interval_(std::chrono::duration_cast<Time::duration>(interval)), burst_(burst) {}

  // Returns how many times it may happen at once now.
  std::uint32_t left(Time now) const {
    if (is_full(now)) return burst_;
    const auto missing = (due_ - now + interval_ - Time::duration(1)) / interval_;
    return missing >= burst_ ? 0 : burst_ - static_cast<std::uint32_t>(missing);
  }
  // Returns whether a whole burst is left: such a limit is as good as a new one.
  bool is_full(Time now) const { return due_ <= now; }
  bool may_take(Time now) const { return due_ <= now + (burst_ - 1) * interval_; }
  // Returns whether it may happen now, and counts it if so.
  bool take(Time now) {
    if (!may_take(now)) return false;
    due_ = std::max(due_, now) + interval_;
    return true;
  }

 private:
  Time::duration interval_;
  std::uint32_t burst_;
  Time due_{};  // when it would happen next at the steady rate
};

}  // namespace splitnic::base
