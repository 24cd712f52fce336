// The order in which the lanes of a link and of an output of a switch send.
#include "fabric_emul/link/lane_schedule.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"

namespace splitnic::fabric {
namespace lane_schedule_test {

// Those of a switch, 4 for management.
constexpr std::size_t kLanes = 5;
constexpr unsigned kAll = (1U << kLanes) - 1;
constexpr std::int64_t kRound = (8 + 16 + 32 + 64 + 64) << 10;

TEST(LaneScheduleTest, S000_41_management_goes_first_and_then_the_highest_lane) {
  LaneSchedule schedule;
  unsigned waiting = kAll;
  for (std::size_t lane = kLanes; lane-- > 0;) {
    ASSERT_EQ(schedule.next(waiting), lane);
    schedule.on_sent(lane, 100);
    waiting &= ~(1U << lane);
  }
}

// Whatever the length of its cells, each lane that always waits gets its share, to a few cells.
TEST(LaneScheduleTest, S000_40_each_lane_gets_its_share) {
  LaneSchedule schedule;
  base::SeededRandom random(3);
  std::array<std::int64_t, kLanes> sent{};
  constexpr std::int64_t kRounds = 200;
  for (std::int64_t all = 0; all < kRounds * kRound;) {
    const std::size_t lane = schedule.next(kAll);
    const std::size_t bytes = 32 + random.next32() % (lane == 0 ? 60000 : 9000);
    schedule.on_sent(lane, bytes);
    sent.at(lane) += static_cast<std::int64_t>(bytes);
    all += static_cast<std::int64_t>(bytes);
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const auto share = static_cast<double>(kRounds * LaneSchedule::share_of(lane));
    EXPECT_NEAR(static_cast<double>(sent.at(lane)), share, 0.02 * share + 60000) << lane;
  }
}

// The bound against starvation, for each lane under all sets of others that wait.
TEST(LaneScheduleTest, S000_41_a_lane_waits_for_one_round_at_most) {
  constexpr std::int64_t kCell = 1400;
  for (unsigned others = 0; others <= kAll; ++others) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      LaneSchedule schedule;
      std::int64_t since = 0;
      for (unsigned i = 0; i < 2000; ++i) {
        const std::size_t next = schedule.next(others | 1U << lane);
        schedule.on_sent(next, kCell);
        since = next == lane ? 0 : since + kCell;
        ASSERT_LE(since,
                  kRound - LaneSchedule::share_of(lane) + kCell * static_cast<std::int64_t>(kLanes))
            << "lane " << lane << " with " << others;
      }
    }
  }
}

// Who sends less than a share per round is next whenever it has something.
TEST(LaneScheduleTest, S000_41_a_high_lane_below_its_share_waits_for_no_lower_one) {
  LaneSchedule schedule;
  base::SeededRandom random(4);
  constexpr unsigned kLow = 0b0001, kHigh = 0b1000;
  for (unsigned i = 0; i < 20000; ++i) {
    // One cell of seven is of the high lane: less than 64 of the 72 KiB of a round.
    const bool has_high = random.next32() % 7 == 0;
    const std::size_t lane = schedule.next(has_high ? kLow | kHigh : kLow);
    ASSERT_EQ(lane, has_high ? 3U : 0U);
    schedule.on_sent(lane, 1400);
  }
}

// A link has up to 15 lanes for data. Those from 3 on have one share, as management has.
TEST(LaneScheduleTest, S000_41_each_of_sixteen_lanes_gets_its_share) {
  LaneSchedule schedule;
  std::array<std::int64_t, kLaneCount> sent{};
  constexpr unsigned kAllOfALink = (1U << kLaneCount) - 1;
  EXPECT_EQ(schedule.next(kAllOfALink), kMgmtLane);
  constexpr std::int64_t kRounds = 50, kFlit = 144;
  for (std::int64_t all = 0; all < kRounds * ((56 + 13 * 64) << 10); all += kFlit) {
    const std::size_t lane = schedule.next(kAllOfALink);
    schedule.on_sent(lane, kFlit);
    sent.at(lane) += kFlit;
  }
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    const auto share = static_cast<double>(kRounds * LaneSchedule::share_of(lane));
    EXPECT_NEAR(static_cast<double>(sent.at(lane)), share, 0.05 * share) << lane;
  }
}

}  // namespace lane_schedule_test
}  // namespace splitnic::fabric
