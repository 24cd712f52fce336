// How the data thread waits for its next turn. A processor that sleeps takes 25 to 50 us to wake,
// and the answer to what was just sent is often here sooner; but where much moves, the time is
// better left to others. So a turn without work spins for kSpin behind the last work, while little
// moves and nobody takes the processor away meanwhile; then it sleeps. Pure: time comes in with
// each call.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace splitnic::base {

class IdleStrategy {
 public:
  enum class Step {
    kWork,   // something was done: the next turn follows at once
    kSpin,   // nothing was: look again
    kYield,  // the same, once others have had the processor
    kSleep,
  };

  static constexpr Duration kSpin = std::chrono::microseconds(50);
  static constexpr Duration kSpinAwake = std::chrono::microseconds(10);
  static constexpr std::uint64_t kFrameOverheadBytes = 512;  // that a frame counts besides its own

  // never_sleeps: spins however much moves, and behind kSpinAwake it yields in place of sleeping.
  explicit IdleStrategy(bool never_sleeps) : never_sleeps_(never_sleeps) {}

  // The turn that ended at `now` did something or not; `moved`: bytes so far, kFrameBytes for
  // each frame added.
  Step after(bool made_progress, std::uint64_t bytes_processed, Time now) {
    measure(bytes_processed, now);
    const bool was_away = last_ == Step::kSpin && now - last_at_ > kAway;
    if (was_away) spins_again_ = now + kBackOff;
    last_at_ = now;
    if (made_progress) worked_at_ = now;
    return last_ = decide(made_progress, now);
  }

 private:
  static constexpr Duration kWindow = std::chrono::milliseconds(1);
  static constexpr std::uint64_t kLowBytesPerWindow = 48 * 1024;  // a window: 0.4 Gbit/s
  static constexpr Duration kAway = std::chrono::microseconds(200);
  static constexpr Duration kBackOff = std::chrono::milliseconds(10);

  Step decide(bool made_progress, Time now) const {
    if (made_progress) return Step::kWork;
    if (never_sleeps_) return now - worked_at_ < kSpinAwake ? Step::kSpin : Step::kYield;
    const bool is_fresh = now - worked_at_ < kSpin;
    return is_fresh && is_throughput_low_ && now >= spins_again_ ? Step::kSpin : Step::kSleep;
  }
  void measure(std::uint64_t bytes_processed, Time now) {
    if (now - window_at_ < kWindow) {
      if (bytes_processed - bytes_at_window_start_ > kLowBytesPerWindow) is_throughput_low_ = false;
      return;
    }
    is_throughput_low_ = bytes_processed - bytes_at_window_start_ <= kLowBytesPerWindow;
    bytes_at_window_start_ = bytes_processed;
    window_at_ = now;
  }

  const bool never_sleeps_;
  Step last_ = Step::kWork;
  Time last_at_{};
  Time worked_at_{};
  Time spins_again_{};
  Time window_at_{};
  std::uint64_t bytes_at_window_start_ = 0;
  bool is_throughput_low_ = true;
};

}  // namespace splitnic::base
