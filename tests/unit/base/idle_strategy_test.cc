#include "base/idle_strategy.h"

#include <gtest/gtest.h>

namespace splitnic::base {
namespace idle_strategy_test {

using namespace std::chrono_literals;
using Step = IdleStrategy::Step;

class IdleStrategyTest : public ::testing::Test {
 protected:
  // One iteration, which ends `later` and processes `bytes`.
  Step iterate(Duration later, bool made_progress, std::uint64_t bytes = 0) {
    now_ += later;
    bytes_processed_ += bytes;
    return idle_.after(made_progress, bytes_processed_, now_);
  }
  IdleStrategy idle_{false};
  Time now_{1s};
  std::uint64_t bytes_processed_ = 0;
};

TEST_F(IdleStrategyTest, spins_after_progress_and_then_sleeps) {
  EXPECT_EQ(iterate(2ms, true, 64), Step::kWork);
  EXPECT_EQ(iterate(1us, false), Step::kSpin);
  EXPECT_EQ(iterate(IdleStrategy::kSpin - 2us, false), Step::kSpin);
  EXPECT_EQ(iterate(1us, false), Step::kSleep);
  EXPECT_EQ(iterate(1s, false), Step::kSleep);  // woken for nothing
  EXPECT_EQ(iterate(1us, true, 64), Step::kWork);
  EXPECT_EQ(iterate(1us, false), Step::kSpin);
}

TEST_F(IdleStrategyTest, at_high_throughput_it_sleeps_at_once) {
  EXPECT_EQ(iterate(2ms, true), Step::kWork);
  EXPECT_EQ(iterate(10us, true, 65536), Step::kWork);
  EXPECT_EQ(iterate(1us, false), Step::kSleep);
  // A whole millisecond later with little in it, it spins again.
  EXPECT_EQ(iterate(1ms, true, 64), Step::kWork);
  EXPECT_EQ(iterate(1ms, true, 64), Step::kWork);
  EXPECT_EQ(iterate(1us, false), Step::kSpin);
}

TEST_F(IdleStrategyTest, sleeps_where_other_threads_need_the_processor) {
  EXPECT_EQ(iterate(2ms, true, 64), Step::kWork);
  EXPECT_EQ(iterate(1us, false), Step::kSpin);
  EXPECT_EQ(iterate(4ms, true, 64), Step::kWork);  // it was taken away in the middle
  EXPECT_EQ(iterate(1us, false), Step::kSleep);
  EXPECT_EQ(iterate(9ms, true, 64), Step::kWork);
  EXPECT_EQ(iterate(1us, false), Step::kSleep);
  EXPECT_EQ(iterate(1ms, true, 64), Step::kWork);
  EXPECT_EQ(iterate(1us, false), Step::kSpin);
}

TEST_F(IdleStrategyTest, one_that_never_sleeps_spins_and_then_yields) {
  IdleStrategy awake(true);
  EXPECT_EQ(awake.after(true, 1 << 20, now_), Step::kWork);
  EXPECT_EQ(awake.after(false, 1 << 20, now_ + 1us), Step::kSpin);
  EXPECT_EQ(awake.after(false, 1 << 20, now_ + IdleStrategy::kSpinAwake), Step::kYield);
  EXPECT_EQ(awake.after(false, 1 << 20, now_ + 1s), Step::kYield);
}

}  // namespace idle_strategy_test
}  // namespace splitnic::base
