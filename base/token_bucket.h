// A token bucket (RFC 2697) with debt: `rate` tokens per second flow in, at most `burst` are saved,
// and a charge passes while one is left, even if it takes more than that. So what is longer than
// the burst passes as well, and the average never exceeds the rate. Time comes in; pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace splitnic::base {

class TokenBucket {
 public:
  // `rate` in tokens per second; 0: no limit.
  constexpr TokenBucket(std::uint64_t rate, std::uint64_t burst)
      : rate_(static_cast<double>(rate)),
        burst_(static_cast<double>(std::max<std::uint64_t>(burst, 1))),
        tokens_(burst_) {}

  bool is_limited() const { return rate_ > 0; }
  // Another rate and burst. What is taken stays taken, unless there was no limit.
  void set_rate(std::uint64_t rate, std::uint64_t burst) {
    const bool was_limited = is_limited();
    const double tokens = tokens_;
    const Time last = last_;
    *this = TokenBucket(rate, burst);
    if (was_limited) tokens_ = std::min(tokens, burst_);
    last_ = last;
  }
  // Returns whether all that was taken has flowed back.
  bool is_full(Time now) const {
    const std::chrono::duration<double> passed = now - last_;
    return !is_limited() || tokens_ + passed.count() * rate_ >= burst_;
  }
  // Returns whether a charge passes now. `now` never goes back.
  bool may_take(Time now) {
    if (!is_limited()) return true;
    const std::chrono::duration<double> passed = now - last_;
    tokens_ = std::min(burst_, tokens_ + passed.count() * rate_);
    last_ = now;
    return tokens_ >= 1;
  }
  // REQUIRES that may_take() returned true.
  void charge(std::uint64_t tokens) { tokens_ -= static_cast<double>(tokens); }
  bool take(std::uint64_t tokens, Time now) {
    if (!may_take(now)) return false;
    charge(tokens);
    return true;
  }

 private:
  double rate_;
  double burst_;
  double tokens_;
  Time last_{};
};

}  // namespace splitnic::base
