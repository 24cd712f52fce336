#include "base/memory_account.h"

#include <gtest/gtest.h>

#include <utility>

namespace splitnic::base {
namespace memory_account_test {

TEST(MemoryAccountTest, M_1_grants_up_to_its_limit_and_counts_what_it_refuses) {
  MemoryAccount account(100);
  EXPECT_TRUE(account.take(60));
  EXPECT_FALSE(account.take(41));
  EXPECT_FALSE(account.take(UINT64_MAX));
  EXPECT_TRUE(account.take(40));
  EXPECT_EQ(account.used(), 100U);
  EXPECT_EQ(account.refusals(), 2U);
  EXPECT_TRUE(account.take(0));
  account.give(100);
  EXPECT_EQ(account.used(), 0U);
}

TEST(MemoryAccountTest, M_1_a_limit_below_what_is_in_use_ends_nothing) {
  MemoryAccount account(100);
  ASSERT_TRUE(account.take(80));
  account.set_limit(50);
  EXPECT_FALSE(account.take(1));
  EXPECT_EQ(account.used(), 80U);
  account.give(40);
  EXPECT_TRUE(account.take(10));
  EXPECT_FALSE(account.take(1));
}

TEST(MemoryChargeTest, M_1_returns_what_it_took_when_it_ends) {
  MemoryAccount account(100);
  {
    MemoryCharge charge(&account);
    EXPECT_TRUE(charge.add(30));
    EXPECT_TRUE(charge.add(50));
    EXPECT_FALSE(charge.add(30));
    EXPECT_EQ(charge.bytes(), 80U);
    charge.give(20);
    MemoryCharge moved(std::move(charge));
    EXPECT_EQ(account.used(), 60U);
    MemoryCharge assigned(&account);
    ASSERT_TRUE(assigned.add(40));
    assigned = std::move(moved);
    EXPECT_EQ(account.used(), 60U);
    EXPECT_EQ(assigned.bytes(), 60U);
  }
  EXPECT_EQ(account.used(), 0U);
}

TEST(MemoryChargeTest, M_1_without_an_account_everything_is_granted) {
  MemoryCharge charge;
  EXPECT_TRUE(charge.add(UINT64_MAX / 2));
  charge.reset();
  EXPECT_EQ(charge.bytes(), 0U);
}

}  // namespace memory_account_test
}  // namespace splitnic::base
