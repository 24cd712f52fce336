// Tests when a user of pools requests more elements, and which requests their owner can grant.
#include <gtest/gtest.h>

#include "messaging/pools/element_shortage.h"
#include "messaging/pools/grant_budget.h"

namespace splitnic::messaging::more_pools_test {
using namespace std::chrono_literals;

constexpr base::Time kStart{std::chrono::seconds(1000)};

TEST(ElementShortageTest, S001_13_waiting_half_of_the_time_is_a_shortage) {
  ElementShortage shortage;
  EXPECT_FALSE(shortage.on_wait(kStart)) << "a first wait is not yet a shortage";
  shortage.on_found(kStart + 49ms);
  EXPECT_FALSE(shortage.on_wait(kStart + 100ms)) << "49 of 100 ms";
  EXPECT_FALSE(shortage.on_wait(kStart + 199ms)) << "the span is not over";
  EXPECT_TRUE(shortage.on_wait(kStart + 200ms)) << "100 of 100 ms";
}

TEST(ElementShortageTest, S001_13_requests_are_at_least_a_second_apart) {
  ElementShortage shortage;
  shortage.on_wait(kStart);
  int requests = 0;
  for (int ms = 100; ms <= 2050; ms += 50) requests += shortage.on_wait(kStart + ms * 1ms) ? 1 : 0;
  EXPECT_EQ(requests, 2);
}

TEST(GrantBudgetTest, S001_13_sizes_are_rounded_up) {
  const GrantBudget budget(4 << 20);
  const BufferRecvPoolGet request{TransactionContext(1), 1514, 64};
  EXPECT_EQ(budget.pool_for(request), (PoolSpec{64, 1536}));
}

TEST(GrantBudgetTest, S001_13_each_bound_holds) {
  const auto grants = [](GrantBudget& budget, std::uint32_t bytes, std::uint32_t packets) {
    int count = 0;
    while (const auto pool = budget.pool_for({TransactionContext(1), bytes, packets})) {
      budget.take(*pool);
      ++count;
    }
    return count;
  };
  GrantBudget by_bytes(1 << 20), by_elements(SIZE_MAX), by_pools(SIZE_MAX), none(0);
  EXPECT_EQ(grants(by_bytes, 65536, 4), 4);
  EXPECT_EQ(grants(by_elements, 64, 200), 2) << "512 elements";
  EXPECT_EQ(grants(by_pools, 64, 1), 16);
  EXPECT_EQ(grants(none, 64, 1), 0);
  GrantBudget fresh(SIZE_MAX);
  EXPECT_EQ(grants(fresh, 64, 257), 0) << "idata names 256 elements";
  EXPECT_EQ(grants(fresh, 65537, 1), 0) << "idata counts 65536 bytes";
  EXPECT_EQ(grants(fresh, 0xFFFFFFFF, 1), 0) << "the size does not wrap";
}

}  // namespace splitnic::messaging::more_pools_test
