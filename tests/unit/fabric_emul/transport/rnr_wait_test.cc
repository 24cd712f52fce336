#include "fabric_emul/transport/rnr_wait.h"

#include <gtest/gtest.h>

namespace splitnic::fabric::rnr_wait_test {

using namespace std::chrono_literals;

constexpr base::Time kStart{10s};

TEST(RnrWaitTest, a_wait_lasts_as_long_as_the_peer_asked_for) {
  RnrWait rnr;
  EXPECT_FALSE(rnr.is_active(kStart));
  ASSERT_TRUE(rnr.begin(100us, kStart, 1));
  EXPECT_TRUE(rnr.is_active(kStart + 99us));
  EXPECT_FALSE(rnr.is_active(kStart + 100us));
  EXPECT_EQ(rnr.until(), kStart + 100us);
  rnr.on_time(kStart + 99us);
  EXPECT_EQ(rnr.until(), kStart + 100us) << "it is not over";
  rnr.on_time(kStart + 100us);
  EXPECT_EQ(rnr.until(), base::Time{});
}

TEST(RnrWaitTest, the_tries_are_limited_and_begin_again_with_progress) {
  RnrWait rnr;
  EXPECT_TRUE(rnr.begin(1us, kStart, 2));
  EXPECT_TRUE(rnr.begin(1us, kStart + 10us, 2));
  EXPECT_FALSE(rnr.begin(1us, kStart + 20us, 2));
  EXPECT_EQ(rnr.until(), kStart + 11us) << "a refused try begins no wait";
  rnr.on_progress();
  EXPECT_TRUE(rnr.begin(1us, kStart + 30us, 2));
  rnr.reset();
  EXPECT_EQ(rnr.until(), base::Time{});
  EXPECT_FALSE(rnr.begin(1us, kStart + 40us, 0)) << "no second try at all";
}

TEST(RnrWaitTest, seven_means_indefinitely) {
  RnrWait rnr;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(rnr.begin(1us, kStart + i * 10us, kRnrRetryForever)) << i;
  }
}

}  // namespace splitnic::fabric::rnr_wait_test
