#include "fabric_emul/switching/wait_budget.h"

#include <gtest/gtest.h>

namespace splitnic::fabric::wait_budget_test {

using namespace std::chrono_literals;

constexpr base::Time at(base::Duration time) { return base::Time{} + time; }

TEST(WaitBudgetTest, S000_45_it_is_spent_after_a_tenth_of_a_second_of_waiting) {
  WaitBudget budget;
  budget.start(at(1s));
  for (int i = 1; i < 20; ++i) budget.on_wait(at(1s + i * 5ms));
  EXPECT_FALSE(budget.is_spent());
  budget.on_wait(at(1100ms));
  EXPECT_TRUE(budget.is_spent());
}

TEST(WaitBudgetTest, S000_45_it_is_new_once_enough_was_taken) {
  WaitBudget budget;
  budget.start(at(1s));
  for (int i = 1; i < 20; ++i) budget.on_wait(at(1s + i * 5ms));
  budget.on_taken(WaitBudget::kBytes - 1);
  budget.on_wait(at(1100ms));
  EXPECT_TRUE(budget.is_spent());
  budget.on_taken(1);
  EXPECT_FALSE(budget.is_spent());
}

// A process that gets no processor for a second has not seen whether the output would take more.
TEST(WaitBudgetTest, S000_45_time_in_which_the_switch_did_not_run_counts_little) {
  WaitBudget budget;
  budget.start(at(1s));
  for (int i = 1; i < 10; ++i) budget.on_wait(at(1s + i * 1s));
  EXPECT_FALSE(budget.is_spent());
  budget.on_wait(at(11s));
  EXPECT_TRUE(budget.is_spent()) << "one that never moves is given up";
}

}  // namespace splitnic::fabric::wait_budget_test
