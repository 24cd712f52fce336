#include "base/rate_limit.h"

#include <gtest/gtest.h>

namespace splitnic::base {
namespace rate_limit_test {

using namespace std::chrono_literals;

int take(RateLimit& limit, Time now, int times) {
  int taken = 0;
  for (int i = 0; i < times; ++i) taken += limit.take(now) ? 1 : 0;
  return taken;
}

TEST(RateLimitTest, a_burst_then_one_per_interval) {
  RateLimit limit(100ms, 4);
  Time now{50s};
  EXPECT_EQ(take(limit, now, 10), 4);
  EXPECT_EQ(take(limit, now + 99ms, 10), 0);
  EXPECT_EQ(take(limit, now + 100ms, 10), 1);
  EXPECT_EQ(take(limit, now + 350ms, 10), 2);
  EXPECT_EQ(take(limit, now + 400ms, 10), 1);
}

TEST(RateLimitTest, a_pause_saves_no_more_than_a_burst) {
  RateLimit limit(1ms, 3);
  Time now{50s};
  take(limit, now, 3);
  EXPECT_EQ(take(limit, now + 1h, 10), 3);
}

TEST(RateLimitTest, asking_counts_nothing) {
  RateLimit limit(1s, 1);
  const Time now{50s};
  EXPECT_TRUE(limit.may_take(now));
  EXPECT_TRUE(limit.take(now));
  EXPECT_FALSE(limit.may_take(now));
}

TEST(RateLimitTest, what_is_left_is_what_can_be_taken) {
  RateLimit limit(100ms, 4);
  const Time now{50s};
  EXPECT_EQ(limit.left(now), 4U);
  EXPECT_TRUE(limit.is_full(now));
  take(limit, now, 3);
  for (const auto wait : {0ms, 1ms, 99ms, 100ms, 101ms, 299ms, 300ms, 1000ms}) {
    RateLimit copy = limit;
    const std::uint32_t left = copy.left(now + wait);
    EXPECT_EQ(take(copy, now + wait, 10), static_cast<int>(left)) << wait.count();
    EXPECT_EQ(limit.is_full(now + wait), left == 4) << wait.count();
  }
}

}  // namespace rate_limit_test
}  // namespace splitnic::base
