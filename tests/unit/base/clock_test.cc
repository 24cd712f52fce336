#include "base/clock.h"

#include <gtest/gtest.h>

#include <ctime>

namespace splitnic::base::clock_test {

Time of_kernel(clockid_t clock) {
  timespec now{};
  EXPECT_EQ(clock_gettime(clock, &now), 0);
  return Time(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

// Nobody can set CLOCK_MONOTONIC.
TEST(ClockTest, F_50_the_time_of_the_programs_is_that_of_a_clock_that_never_jumps) {
  SystemClock clock;
  const Time before = of_kernel(CLOCK_MONOTONIC);
  const Time now = clock.now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, of_kernel(CLOCK_MONOTONIC));
}

}  // namespace splitnic::base::clock_test
