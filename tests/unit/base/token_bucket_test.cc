#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace splitnic::base {
namespace token_bucket_test {

using namespace std::chrono_literals;
constexpr Time kStart{1000s};

TEST(TokenBucketTest, without_a_rate_all_passes) {
  TokenBucket bucket(0, 0);
  EXPECT_FALSE(bucket.is_limited());
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(bucket.take(1'000'000, kStart));
}

TEST(TokenBucketTest, a_burst_passes_at_once_and_then_the_rate) {
  TokenBucket bucket(100, 10);
  int passed = 0;
  for (int i = 0; i < 50; ++i) passed += bucket.take(1, kStart) ? 1 : 0;
  EXPECT_EQ(passed, 10);
  EXPECT_FALSE(bucket.take(1, kStart + 0ms));
  EXPECT_TRUE(bucket.take(1, kStart + 11ms));
  passed = 0;
  for (Time now = kStart + 20ms; now < kStart + 10020ms; now += 1ms)
    passed += bucket.take(1, now) ? 1 : 0;
  EXPECT_NEAR(passed, 1000, 2);
}

TEST(TokenBucketTest, no_more_than_the_burst_is_saved) {
  TokenBucket bucket(100, 10);
  EXPECT_TRUE(bucket.take(10, kStart));
  int passed = 0;
  for (int i = 0; i < 50; ++i) passed += bucket.take(1, kStart + 1h) ? 1 : 0;
  EXPECT_EQ(passed, 10);
}

TEST(TokenBucketTest, a_charge_beyond_the_burst_passes_and_is_paid_for) {
  TokenBucket bucket(100, 10);
  EXPECT_TRUE(bucket.take(110, kStart));
  EXPECT_FALSE(bucket.take(1, kStart + 900ms));
  EXPECT_TRUE(bucket.take(1, kStart + 1100ms));
}

// A slow rate, asked often: no fraction is lost.
TEST(TokenBucketTest, fractions_of_a_token_add_up) {
  TokenBucket bucket(1, 1);
  EXPECT_TRUE(bucket.take(1, kStart));
  int passed = 0;
  for (Time now = kStart; now < kStart + 10500ms; now += 7us) passed += bucket.take(1, now) ? 1 : 0;
  EXPECT_EQ(passed, 10);
}

}  // namespace token_bucket_test
}  // namespace splitnic::base
