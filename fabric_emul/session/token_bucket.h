// A token bucket: N events per second, and a burst. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace splitnic::fabric::session {

class TokenBucket {
 public:
  TokenBucket(std::uint32_t per_second, std::uint32_t burst)
      : interval_(std::chrono::nanoseconds(std::chrono::seconds(1)) / per_second), burst_(burst) {}

  // Returns the number of tokens that are left now.
  std::uint32_t left(base::Time now) const {
    if (now >= full_at_) return burst_;
    const auto missing = (full_at_ - now + interval_ - std::chrono::nanoseconds(1)) / interval_;
    return missing >= burst_ ? 0 : burst_ - static_cast<std::uint32_t>(missing);
  }
  // Takes a token. Returns false if there is none.
  bool take(base::Time now) {
    if (left(now) == 0) return false;
    full_at_ =
        std::max(full_at_, now) + std::chrono::duration_cast<base::Time::duration>(interval_);
    return true;
  }
  bool is_full(base::Time now) const { return now >= full_at_; }

 private:
  base::Duration interval_;
  std::uint32_t burst_;
  base::Time full_at_{};
};

}  // namespace splitnic::fabric::session
