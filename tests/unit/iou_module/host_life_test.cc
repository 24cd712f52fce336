#include "iou_module/hosts/host_life.h"

#include <gtest/gtest.h>

namespace splitnic::iou::host_life_test {

using namespace std::chrono_literals;

constexpr base::Time kStart{10s};

TEST(HostLifeTest, ends_once_and_by_failing_first) {
  HostLife life(kStart);
  EXPECT_EQ(life.state(), HostState::kAttached);
  EXPECT_FALSE(life.has_ended());
  life.fail();
  EXPECT_EQ(life.state(), HostState::kFailed);
  EXPECT_TRUE(life.has_ended());
  EXPECT_TRUE(life.close());
  EXPECT_FALSE(life.close()) << "the second time";
  life.fail();
  EXPECT_EQ(life.state(), HostState::kClosed);
}

TEST(HostLifeTest, may_fail_while_it_closes) {
  HostLife life(kStart);
  life.begin_close();
  EXPECT_EQ(life.state(), HostState::kClosing);
  EXPECT_FALSE(life.has_ended());
  life.fail();
  EXPECT_EQ(life.state(), HostState::kFailed);
}

TEST(HostLifeDeathTest, a_host_that_has_not_failed_is_not_closed) {
  HostLife life(kStart);
  EXPECT_DEATH(life.close(), "");
  life.fail();
  EXPECT_DEATH(life.begin_close(), "");
}

TEST(HostLifeTest, fails_when_its_link_is_down_for_too_long) {
  HostLife life(kStart);
  EXPECT_FALSE(life.expire(true, kStart));
  EXPECT_EQ(life.deadline(), base::kNever);
  EXPECT_FALSE(life.expire(false, kStart));
  EXPECT_EQ(life.deadline(), kStart + HostLife::kAwayMax);
  EXPECT_FALSE(life.expire(false, kStart + HostLife::kAwayMax - 1ns));
  EXPECT_EQ(life.state(), HostState::kAttached);
  EXPECT_TRUE(life.expire(false, kStart + HostLife::kAwayMax));
  EXPECT_EQ(life.state(), HostState::kFailed);
  EXPECT_FALSE(life.expire(false, kStart + 2 * HostLife::kAwayMax)) << "it has failed already";
}

TEST(HostLifeTest, counts_the_time_from_when_the_link_went_down_last) {
  HostLife life(kStart);
  EXPECT_FALSE(life.expire(false, kStart));
  EXPECT_FALSE(life.expire(true, kStart + 59s));
  EXPECT_EQ(life.deadline(), base::kNever);
  EXPECT_FALSE(life.expire(false, kStart + 61s));
  EXPECT_EQ(life.deadline(), kStart + 61s + HostLife::kAwayMax);
  EXPECT_FALSE(life.expire(false, kStart + 120s));
}

}  // namespace splitnic::iou::host_life_test
