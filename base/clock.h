// Monotonic time as a seam: protocol code gets `Time now`, the daemons read SystemClock once per
// batch, the simulator moves a ManualClock.
#pragma once

#include <chrono>

namespace splitnic::base {

using Time = std::chrono::steady_clock::time_point;
using Duration = std::chrono::nanoseconds;
inline constexpr Time kNever = Time::max();

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() = 0;
};

class SystemClock final : public Clock {
 public:
  Time now() override { return std::chrono::steady_clock::now(); }
};

class ManualClock final : public Clock {
 public:
  Time now() override { return now_; }
  void advance(Duration by) { now_ += std::chrono::duration_cast<Time::duration>(by); }
  void set(Time to) { now_ = to; }

 private:
  Time now_{std::chrono::seconds(1000)};
};

}  // namespace splitnic::base
