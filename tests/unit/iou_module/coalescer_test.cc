#include "iou_module/hosts/coalescer.h"

#include <gtest/gtest.h>

namespace splitnic::iou {
namespace coalescer_test {

using namespace std::chrono_literals;

constexpr base::Time kStart{10s};

Coalescer with(const messaging::Coalescing& settings) {
  Coalescer coalescer;
  coalescer.set(settings);
  return coalescer;
}

TEST(CoalescerTest, P_CFG_30_the_first_frame_waits_for_the_time_and_no_longer) {
  Coalescer coalescer = with({.microseconds = 50});
  ASSERT_TRUE(coalescer.is_on());
  EXPECT_TRUE(coalescer.holds(1, 100, kStart));
  EXPECT_EQ(coalescer.deadline(), kStart + 50us);
  EXPECT_TRUE(coalescer.holds(2, 200, kStart + 49us));
  EXPECT_EQ(coalescer.deadline(), kStart + 50us) << "it counts from the first";
  EXPECT_FALSE(coalescer.holds(2, 200, kStart + 50us));
  EXPECT_EQ(coalescer.deadline(), base::kNever);
}

TEST(CoalescerTest, P_CFG_30_enough_frames_or_bytes_end_the_wait) {
  Coalescer by_frames = with({.microseconds = 50, .frames = 3});
  EXPECT_TRUE(by_frames.holds(2, 200, kStart));
  EXPECT_FALSE(by_frames.holds(3, 300, kStart + 1us));
  Coalescer by_bytes = with({.microseconds = 50, .bytes = 1000});
  EXPECT_TRUE(by_bytes.holds(20, 999, kStart));
  EXPECT_FALSE(by_bytes.holds(21, 1000, kStart + 1us));
}

TEST(CoalescerTest, P_CFG_30_what_passes_passes_until_nothing_waits) {
  Coalescer coalescer = with({.microseconds = 50});
  EXPECT_TRUE(coalescer.holds(1, 100, kStart));
  EXPECT_FALSE(coalescer.holds(5, 500, kStart + 50us));
  EXPECT_FALSE(coalescer.holds(1, 100, kStart + 51us)) << "the host had no element for it";
  EXPECT_FALSE(coalescer.holds(0, 0, kStart + 52us));
  EXPECT_TRUE(coalescer.holds(1, 100, kStart + 53us)) << "the next wait";
  EXPECT_EQ(coalescer.deadline(), kStart + 103us);
}

TEST(CoalescerTest, P_CFG_30_adaptive_lets_a_frame_pass_that_comes_alone) {
  Coalescer coalescer = with({.microseconds = 50, .is_adaptive = true});
  EXPECT_FALSE(coalescer.holds(1, 100, kStart));
  EXPECT_FALSE(coalescer.holds(0, 0, kStart));
  EXPECT_TRUE(coalescer.holds(1, 100, kStart + 49us)) << "close behind another one";
  EXPECT_FALSE(coalescer.holds(3, 300, kStart + 99us));
  EXPECT_FALSE(coalescer.holds(0, 0, kStart + 99us));
  EXPECT_FALSE(coalescer.holds(1, 100, kStart + 149us)) << "nothing for 50 us";
}

TEST(CoalescerTest, with_other_settings_nothing_is_held) {
  Coalescer coalescer = with({.microseconds = 50});
  EXPECT_TRUE(coalescer.holds(1, 100, kStart));
  coalescer.set({});
  EXPECT_FALSE(coalescer.is_on());
  EXPECT_EQ(coalescer.deadline(), base::kNever);
}

}  // namespace coalescer_test
}  // namespace splitnic::iou
