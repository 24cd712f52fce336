// Predicts whether a wait will be short, from the waits before it: two-level adaptive prediction,
// as processors predict branches (Yeh and Patt, 1991). The last waits select a counter, and the
// counter knows how the wait behind such a sequence ended. So it learns alternations too: a reply
// comes soon, the next request does not. Pure. Thread: its owner.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace splitnic::base {

class WaitPrediction {
 public:
  WaitPrediction() { counters_.fill(kShortFrom); }

  // Whether the next wait is expected to be short: at first, and behind every sequence of waits
  // that has not been seen, it is.
  bool is_short() const { return counters_[last_] >= kShortFrom; }
  void learn(bool was_short) {
    std::uint8_t& counter = counters_[last_];
    if (was_short && counter < kMax) ++counter;
    if (!was_short && counter > 0) --counter;
    last_ = (last_ << 1 | (was_short ? 1U : 0U)) % kSequences;
  }

 private:
  static constexpr std::size_t kSequences = 16;  // of four waits
  static constexpr std::uint8_t kShortFrom = 2;
  static constexpr std::uint8_t kMax = 3;

  std::array<std::uint8_t, kSequences> counters_{};
  std::size_t last_ = kSequences - 1;  // a bit for each of the last waits, 1 for a short one
};

}  // namespace splitnic::base
