#include "fabric_emul/transport/ack_schedule.h"

#include <gtest/gtest.h>

namespace splitnic::fabric::ack_schedule_test {

using namespace std::chrono_literals;

constexpr base::Time kStart{10s};
constexpr base::Duration kDelay = 50us;
constexpr std::uint32_t kInterval = 4;

void expect_idle(const AckSchedule& acks) {
  EXPECT_FALSE(acks.is_pending());
  EXPECT_EQ(acks.deadline(), base::kNever);
  EXPECT_FALSE(acks.is_due(kStart + 1h));
}

TEST(AckScheduleTest, without_cells_it_is_idle) { expect_idle(AckSchedule(kDelay)); }

TEST(AckScheduleTest, S004_04_one_ack_covers_an_interval_of_cells) {
  AckSchedule acks(kDelay);
  for (std::uint32_t i = 1; i < kInterval; ++i) {
    acks.on_taken(1, kInterval, kStart);
    EXPECT_TRUE(acks.is_pending());
    EXPECT_FALSE(acks.is_due(kStart)) << i;
  }
  acks.on_taken(1, kInterval, kStart);
  EXPECT_TRUE(acks.is_due(kStart));
  acks.clear();
  expect_idle(acks);
  acks.on_taken(1, kInterval, kStart);
  EXPECT_FALSE(acks.is_due(kStart)) << "the next interval begins from 0";
}

TEST(AckScheduleTest, S004_04_the_delay_runs_from_the_first_cell) {
  AckSchedule acks(kDelay);
  acks.on_taken(1, kInterval, kStart);
  EXPECT_EQ(acks.deadline(), kStart + kDelay);
  acks.on_taken(1, kInterval, kStart + 20us);
  EXPECT_EQ(acks.deadline(), kStart + kDelay) << "the second cell prolongs nothing";
  EXPECT_FALSE(acks.is_due(kStart + kDelay - 1ns));
  EXPECT_TRUE(acks.is_due(kStart + kDelay));
  EXPECT_TRUE(acks.is_due(kStart + 1h)) << "it stays due until an ACK leaves";
  acks.clear();
  expect_idle(acks);
  acks.on_taken(1, kInterval, kStart + 1s);
  EXPECT_EQ(acks.deadline(), kStart + 1s + kDelay);
}

TEST(AckScheduleTest, S000_17_with_an_interval_of_one_each_cell_makes_an_ack_due) {
  AckSchedule acks(kDelay);
  for (int i = 0; i < 3; ++i) {
    acks.on_taken(1, 1, kStart);
    EXPECT_TRUE(acks.is_due(kStart)) << i;
    EXPECT_EQ(acks.deadline(), base::kNever) << "no delay";
    acks.clear();
  }
}

TEST(AckScheduleTest, X_13_the_interval_may_change_while_cells_wait) {
  AckSchedule acks(kDelay);
  acks.on_taken(3, 64, kStart);
  EXPECT_FALSE(acks.is_due(kStart));
  acks.on_taken(1, 4, kStart);
  EXPECT_TRUE(acks.is_due(kStart));
}

TEST(AckScheduleTest, a_requested_ack_is_due_at_once) {
  AckSchedule acks(kDelay);
  acks.make_due();
  EXPECT_TRUE(acks.is_pending()) << "a duplicate is no cell that waits";
  EXPECT_TRUE(acks.is_due(kStart));
  acks.clear();
  expect_idle(acks);
}

TEST(AckScheduleTest, a_cell_behind_a_gap_counts_in_the_interval) {
  AckSchedule acks(kDelay);
  acks.on_kept();
  EXPECT_TRUE(acks.is_pending());
  EXPECT_FALSE(acks.is_due(kStart)) << "the responder makes it due";
  acks.on_taken(kInterval - 1, kInterval, kStart);
  EXPECT_TRUE(acks.is_due(kStart));
}

// A run takes several cells at once and must leave the state of the general path.
TEST(AckScheduleTest, several_cells_have_the_effect_of_one_by_one) {
  for (std::uint32_t interval = 1; interval <= 5; ++interval) {
    for (std::uint32_t before = 0; before < interval; ++before) {
      for (std::uint32_t cells = 1; cells <= 7; ++cells) {
        AckSchedule at_once(kDelay);
        AckSchedule separately(kDelay);
        for (std::uint32_t i = 0; i < before; ++i) {
          at_once.on_taken(1, interval, kStart);
          separately.on_taken(1, interval, kStart);
        }
        const base::Time now = kStart + 10us;
        at_once.on_taken(cells, interval, now);
        for (std::uint32_t i = 0; i < cells; ++i) separately.on_taken(1, interval, now);
        EXPECT_EQ(at_once.is_due(now), separately.is_due(now));
        EXPECT_EQ(at_once.deadline(), separately.deadline())
            << interval << ", " << before << ", " << cells;
        EXPECT_EQ(at_once.is_due(now), before + cells >= interval);
        EXPECT_EQ(at_once.deadline() != base::kNever, interval > 1);
      }
    }
  }
}

}  // namespace splitnic::fabric::ack_schedule_test
