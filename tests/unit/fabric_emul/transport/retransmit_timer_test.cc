#include "fabric_emul/transport/retransmit_timer.h"

#include <gtest/gtest.h>

namespace splitnic::fabric::testing::retransmit_timer_test {

using namespace std::chrono_literals;

TEST(RetransmitTimerTest, fails_only_when_the_tries_and_the_time_are_used_up) {
  RetransmitTimer timer(5s);
  base::Time now{};
  timer.arm(now, 10ms);
  EXPECT_EQ(timer.deadline(), now + 10ms);
  for (int i = 0; i < 3; ++i) timer.on_timeout(now += 10ms);
  EXPECT_FALSE(timer.is_exhausted(now, 3)) << "5 s have not passed";
  now += 5s;
  EXPECT_FALSE(timer.is_exhausted(now, 4)) << "one try is left";
  EXPECT_TRUE(timer.is_exhausted(now, 3));
  timer.on_progress(now);
  EXPECT_FALSE(timer.is_exhausted(now + 5s, 3));
}

TEST(RetransmitTimerTest, time_without_cells_in_flight_is_no_stall) {
  RetransmitTimer timer(5s);
  base::Time now{};
  timer.arm(now, 10ms);
  timer.disarm();
  EXPECT_FALSE(timer.is_armed());
  now += 1min;
  timer.arm(now, 10ms);
  EXPECT_FALSE(timer.is_exhausted(now, 0));
  EXPECT_TRUE(timer.is_exhausted(now + 5s, 0));
}

TEST(RetransmitTimerTest, only_a_cell_sent_once_after_the_newest_timeout_gives_a_sample) {
  RetransmitTimer timer(5s);
  const base::Time now = base::Time{} + 1s;
  EXPECT_TRUE(timer.gives_sample(now, false));
  EXPECT_FALSE(timer.gives_sample(now, true));
  timer.on_timeout(now + 1ms);
  EXPECT_FALSE(timer.gives_sample(now, false));
  EXPECT_TRUE(timer.gives_sample(now + 2ms, false));
}

}  // namespace splitnic::fabric::testing::retransmit_timer_test
