#include "host_module/unit_choice.h"

#include <gtest/gtest.h>

namespace splitnic::host {
namespace unit_choice_test {

using namespace std::chrono_literals;
using Number = std::optional<std::size_t>;
constexpr base::Time kStart{1000s};

// Two units, and back after ten seconds.
struct UnitChoiceTest : ::testing::Test {
  Number after(base::Duration wait) { return choice.choose(now += wait); }
  void set(std::size_t unit, bool is_usable) { choice.set_usable(unit, is_usable, now); }

  base::Time now = kStart;
  UnitChoice choice{2, 10s};
};

TEST_F(UnitChoiceTest, the_preferred_one_is_taken_at_once) {
  EXPECT_EQ(after(0s), Number());
  set(0, true);
  EXPECT_EQ(after(0s), 0U);
}

TEST_F(UnitChoiceTest, another_one_waits_for_the_preferred_one_at_the_start) {
  set(1, true);
  EXPECT_EQ(after(999ms), Number());
  EXPECT_EQ(choice.deadline(), kStart + 1s);
  EXPECT_EQ(after(1ms), 1U);
}

TEST_F(UnitChoiceTest, the_next_one_takes_over_at_once) {
  set(0, true);
  set(1, true);
  EXPECT_EQ(after(5s), 0U);
  set(0, false);
  EXPECT_EQ(after(0s), 1U);
}

TEST_F(UnitChoiceTest, with_all_gone_the_last_stays_until_one_is_back) {
  set(0, true);
  EXPECT_EQ(after(0s), 0U);
  set(0, false);
  EXPECT_EQ(after(20s), 0U);
  set(1, true);
  EXPECT_EQ(after(0s), 1U);
}

TEST_F(UnitChoiceTest, back_when_the_preferred_one_was_usable_without_a_break) {
  set(0, true);
  set(1, true);
  after(0s);
  set(0, false);
  EXPECT_EQ(after(0s), 1U);
  set(0, true);
  EXPECT_EQ(after(9s), 1U);
  set(0, false);
  after(0s);
  set(0, true);
  EXPECT_EQ(after(9s), 1U);
  EXPECT_EQ(choice.deadline(), now + 1s);
  EXPECT_EQ(after(1s), 0U);
  EXPECT_EQ(choice.deadline(), base::kNever);
}

TEST_F(UnitChoiceTest, never_back) {
  choice = UnitChoice(2, std::nullopt);
  set(0, true);
  set(1, true);
  after(0s);
  set(0, false);
  after(0s);
  set(0, true);
  EXPECT_EQ(after(1h), 1U);
  EXPECT_EQ(choice.deadline(), base::kNever);
}

TEST_F(UnitChoiceTest, one_that_refuses_is_passed_over) {
  set(0, true);
  set(1, true);
  after(0s);
  choice.pass_over(now);
  EXPECT_EQ(after(0s), 1U);
  EXPECT_EQ(after(19s), 1U) << "ten seconds more than it is passed over for";
  EXPECT_EQ(after(1s), 0U);
}

TEST_F(UnitChoiceTest, when_all_refuse_the_one_that_may_be_used_first_is_next) {
  set(0, true);
  set(1, true);
  after(0s);
  choice.pass_over(now);
  after(1s);
  choice.pass_over(now);
  EXPECT_EQ(after(0s), 1U);
  EXPECT_EQ(choice.deadline(), kStart + UnitChoice::kPassOverFor);
  EXPECT_EQ(after(9s), 0U);
}

TEST_F(UnitChoiceTest, a_unit_that_the_user_wants_stays_until_it_is_gone) {
  set(0, true);
  set(1, true);
  after(0s);
  choice.pin(1);
  EXPECT_EQ(after(1h), 1U);
  set(1, false);
  EXPECT_EQ(after(0s), 0U);
  set(1, true);
  EXPECT_EQ(after(1h), 0U);
}

TEST_F(UnitChoiceTest, B_04_another_failback_holds_for_the_time_that_is_over_too) {
  set(0, true);
  after(0s);
  set(0, false);
  set(1, true);
  after(0s);
  set(0, true);
  EXPECT_EQ(after(5s), 1U);
  choice.set_failback(5s);
  EXPECT_EQ(after(0s), 0U);
  set(0, false);
  after(0s);
  set(0, true);
  choice.set_failback(std::nullopt);
  EXPECT_EQ(after(1h), 1U);
}

TEST_F(UnitChoiceTest, the_successor_is_the_best_that_may_be_used) {
  choice = UnitChoice(3, 10s);
  set(1, true);
  set(2, true);
  EXPECT_EQ(choice.successor(now), Number()) << "none is in use";
  after(1s);
  ASSERT_EQ(choice.in_use(), 1U);
  EXPECT_EQ(choice.successor(now), 2U);
  set(0, true);
  EXPECT_EQ(choice.successor(now), 0U);
  choice.pass_over(now);
  EXPECT_EQ(after(0s), 0U);
  set(2, false);
  EXPECT_EQ(choice.successor(now), Number()) << "it has just refused the host";
  now += UnitChoice::kPassOverFor;
  EXPECT_EQ(choice.successor(now), 1U);
}

TEST_F(UnitChoiceTest, of_three_the_best_that_has_been_there_for_long_enough) {
  choice = UnitChoice(3, 10s);
  set(2, true);
  after(1s);
  EXPECT_EQ(choice.in_use(), 2U);
  set(1, true);
  after(9s);
  set(0, true);
  EXPECT_EQ(after(1s), 1U);
  EXPECT_EQ(choice.deadline(), now + 9s);
  EXPECT_EQ(after(9s), 0U);
}

}  // namespace unit_choice_test
}  // namespace splitnic::host
