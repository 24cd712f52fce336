// The idle strategy of a data thread (adaptive busy polling): decides how the thread waits before
// its next loop iteration. A thread that sleeps takes 25 to 50 us to wake up, and the reply to a
// message often arrives sooner; at high throughput the time is better left to other threads. So an
// iteration without progress spins until kSpin after the last progress, while throughput is low and
// no other thread takes the processor away; then the thread sleeps. Pure: the time comes in with
// each call. Thread: its owner, the data thread.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace splitnic::base {

class IdleStrategy {
 public:
  enum class Step {
    kWork,   // progress was made: the next iteration follows at once
    kSpin,   // no progress: poll again
    kYield,  // no progress: poll again after a yield to other threads
    kSleep,
  };

  static constexpr Duration kSpin = std::chrono::microseconds(50);
  static constexpr Duration kSpinAwake = std::chrono::microseconds(10);
  static constexpr std::uint64_t kFrameOverheadBytes = 512;  // added to the bytes of each frame

  // never_sleeps: spins at any throughput, and yields instead of sleeping after kSpinAwake.
  explicit IdleStrategy(bool never_sleeps) : never_sleeps_(never_sleeps) {}

  // Returns how to wait after the iteration that ended at `now`. bytes_processed: the total so far,
  // with kFrameOverheadBytes for each frame.
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
  static constexpr std::uint64_t kLowBytesPerWindow = 48 * 1024;  // 0.4 Gbit/s
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
