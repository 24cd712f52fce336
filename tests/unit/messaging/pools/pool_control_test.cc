// Both roles of one side: the role that each message belongs to, and crossing flushes.
#include "messaging/pools/pool_control.h"

#include "tests/unit/messaging/pools/pool_support.h"

namespace splitnic::messaging::pool_control_test {
using namespace test;

struct PoolControlTest : testing::Test {
  // Both own a pool 0 (separate number spaces); a alone owns 5, b alone owns 6.
  void SetUp() override {
    a.owner.add_as(PoolRef(0), memory(8, 2048, 1));
    a.owner.add_as(PoolRef(5), memory(8, 2048, 2));
    b.owner.add_as(PoolRef(0), memory(4, 2048, 3));
    b.owner.add_as(PoolRef(6), memory(4, 2048, 4));
    settle(a, b, kStart);
  }
  Side a, b{200};
};

TEST_F(PoolControlTest, S001_07_the_tables_of_the_two_roles_are_separate) {
  EXPECT_EQ(a.used(PoolRef(0)).record.elements, 4U);
  EXPECT_EQ(a.owned(PoolRef(0)).record.elements, 8U);
  EXPECT_EQ(b.used(PoolRef(0)).record.elements, 8U);
  EXPECT_FALSE(a.user.knows(PoolRef(5)));
  EXPECT_FALSE(b.owner.knows(PoolRef(5)));
  ASSERT_TRUE(a.user.take(1));
  EXPECT_EQ(a.owned(PoolRef(0)).posted, 8U);
  EXPECT_EQ(b.used(PoolRef(0)).available, 8U);
}

TEST_F(PoolControlTest, X_01_update_from_a_side_that_does_not_own_the_pool) {
  EXPECT_EQ(reason(a.receive(update(ElementRange{PoolRef(5), 0, 1}), kStart)), DropReason::kRole);
  EXPECT_EQ(a.drops[DropReason::kRole], 1U);
  EXPECT_EQ(a.owned(PoolRef(5)).posted, 8U) << "no effect";
  EXPECT_FALSE(a.control.is_broken());
  EXPECT_EQ(reason(a.receive(update(ElementRange{PoolRef(99), 0, 1}), kStart)), DropReason::kPool);
}

TEST_F(PoolControlTest, P_38_indicate_of_the_other_direction) {
  EXPECT_EQ(reason(a.receive(indicate(ConsumedRecord{PoolRef(6), 0, 1, 1}), kStart)),
            DropReason::kRole);
  EXPECT_TRUE(a.filled.empty());
  EXPECT_EQ(a.used(PoolRef(6)).available, 4U);
}

TEST_F(PoolControlTest, S001_17_flush_names_the_pools_of_the_right_side) {
  a.owner.request_flush(std::array{PoolRef(0)});  // a's own
  settle(a, b, kStart);
  EXPECT_FALSE(a.owner.knows(PoolRef(0)));
  EXPECT_FALSE(b.user.knows(PoolRef(0)));
  EXPECT_TRUE(a.user.knows(PoolRef(0))) << "b's pool 0 is another one";
  EXPECT_TRUE(b.owner.knows(PoolRef(0)));
  a.user.request_flush(std::array{PoolRef(0)});  // b's, as its initiator
  settle(a, b, kStart);
  EXPECT_FALSE(a.user.knows(PoolRef(0)));
  EXPECT_FALSE(b.owner.knows(PoolRef(0)));
  EXPECT_EQ(b.owner.next_closed()->handle.value, 3U);
}

TEST_F(PoolControlTest, S001_17_P_41_crossing_flushes_end_the_pool_once) {
  a.owner.request_flush(std::array{PoolRef(5)});
  b.user.request_flush(std::array{PoolRef(5)});
  const Message from_a = a.next(kStart), from_b = b.next(kStart);
  ASSERT_TRUE(a.receive(from_b, kStart));
  ASSERT_TRUE(b.receive(from_a, kStart));
  settle(a, b, kStart);  // both replies arrive and find their request
  ASSERT_TRUE(a.owner.next_closed());
  EXPECT_FALSE(a.owner.next_closed());
  EXPECT_FALSE(a.owner.knows(PoolRef(5)));
  EXPECT_FALSE(b.user.knows(PoolRef(5)));
  EXPECT_EQ(a.drops[DropReason::kContext] + b.drops[DropReason::kContext], 0U);
  EXPECT_EQ(a.owner.deadline(), base::kNever);
  EXPECT_EQ(b.user.deadline(), base::kNever);
}

TEST_F(PoolControlTest, X_41_contexts_of_open_flushes_differ) {
  std::vector<TransactionContext> seen;
  a.owner.request_flush(std::array{PoolRef(0)});
  seen.push_back(BufferPoolFlushRequest::parse(a.next(kStart))->context());
  a.owner.request_flush(std::array{PoolRef(5)});
  seen.push_back(BufferPoolFlushRequest::parse(a.next(kStart))->context());
  a.user.request_flush(std::array{PoolRef(6)});
  seen.push_back(BufferPoolFlushRequest::parse(a.next(kStart))->context());
  EXPECT_NE(seen[0], seen[1]);
  EXPECT_NE(seen[1].value & ~kFlushOfReceiversPools, seen[2].value & ~kFlushOfReceiversPools);
  ContextSource last(~std::uint64_t{0} >> 1);
  EXPECT_EQ(last.next(), TransactionContext(1)) << "0 and bit 63 are skipped";
}

}  // namespace splitnic::messaging::pool_control_test
