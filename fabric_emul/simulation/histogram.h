// A log-linear histogram of times, like HdrHistogram: 64 linear steps per power of two, so the
// relative error is below 1/64. Fixed memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "fabric_emul/simulation/settings.h"

namespace splitnic::fabric::simulation {

class Histogram {
 public:
  // REQUIRES a time that is not negative.
  void add(SimTime time) {
    const auto value = static_cast<std::uint64_t>(time.count());
    ++counts_[step_of(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    longest_ = std::max(longest_, time);
  }

  // The time that this share of the times does not exceed, rounded up to a step; 0 of nothing.
  SimTime percentile(double percent) const {
    const auto wanted =
        static_cast<std::uint64_t>(std::ceil(static_cast<double>(count_) * percent / 100));
    std::uint64_t below = 0;
    for (std::size_t step = 0; step < counts_.size(); ++step) {
      below += counts_[step];
      if (below > 0 && below >= wanted) return std::min(end_of(step), longest_);
    }
    return longest_;
  }
  double mean_picoseconds() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  SimTime longest() const { return longest_; }
  std::uint64_t count() const { return count_; }

 private:
  static constexpr unsigned kStepBits = 6;
  static constexpr std::uint64_t kSteps = std::uint64_t{1} << kStepBits;

  // Below kSteps a value is its step; beyond, the exponent and the kStepBits behind the first bit.
  static std::size_t step_of(std::uint64_t value) {
    if (value < kSteps) return static_cast<std::size_t>(value);
    const auto exponent = static_cast<unsigned>(std::bit_width(value)) - 1 - kStepBits;
    return static_cast<std::size_t>((exponent + 1) * kSteps + ((value >> exponent) - kSteps));
  }
  static SimTime end_of(std::size_t step) {
    if (step < kSteps) return SimTime(static_cast<std::int64_t>(step));
    const std::size_t exponent = step / kSteps - 1;
    const std::uint64_t begin = (kSteps + step % kSteps) << exponent;
    return SimTime(static_cast<std::int64_t>(begin + (std::uint64_t{1} << exponent) - 1));
  }

  std::array<std::uint64_t, (63 - kStepBits + 1) * kSteps> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
  SimTime longest_{};
};

}  // namespace splitnic::fabric::simulation
