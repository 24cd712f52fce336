// Both roles of one side: the role that each message belongs to, crossing flushes, the matrix of
// messages and states.
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

// Every buffer-management message against a pool in each state at its receiver, in this order. '.'
// = accepted.
std::string outcomes(Side& side, std::initializer_list<Message> messages) {
  std::string out;
  for (const Message& message : messages) {
    const Verdict verdict = side.receive(message, kStart);
    out += (out.empty() ? "" : " ") + (verdict ? "." : std::string(name(verdict.error())));
  }
  return out;
}

TEST_F(PoolControlTest, P_36_matrix_at_the_owner) {
  const auto indication = indicate(ConsumedRecord{PoolRef(5), 0, 1, 1});
  const auto flush = flush_request(for_receivers_pools(kGoldenContext), 5U);
  const auto wrong_way = update(ElementRange{PoolRef(5), 0, 1});
  const auto row = [&](Side& side) { return outcomes(side, {indication, wrong_way, flush}); };
  Side fresh;
  EXPECT_EQ(row(fresh), "pool pool .") << "unknown";
  fresh.owner.add_as(PoolRef(5), memory(8, 2048, 1));
  EXPECT_EQ(row(fresh), "pool pool .") << "not advertised yet";
  Side flushing;
  flushing.owner.add_as(PoolRef(5), memory(8, 2048, 1));
  ASSERT_FALSE(flushing.next(kStart).empty());
  flushing.owner.request_flush_all();
  ASSERT_FALSE(flushing.next(kStart).empty());
  EXPECT_EQ(row(flushing), ". role .") << "FLUSHING";
  EXPECT_EQ(row(a), ". role .") << "ADVERTISED";
  EXPECT_EQ(row(a), "state role .") << "element FILLED; flush repeated";
  while (!a.next(kStart).empty()) {
  }
  EXPECT_EQ(row(a), "pool pool .") << "FREE again";
}

TEST_F(PoolControlTest, P_36_matrix_at_the_user) {
  const auto again = advertise(record(6, 4, 2048, 9));
  const auto range = update(ElementRange{PoolRef(6), 0, 1});
  const auto wrong_way = indicate(ConsumedRecord{PoolRef(6), 0, 1, 1});
  const auto row = [&](Side& side) { return outcomes(side, {again, range, wrong_way}); };
  Side fresh;
  EXPECT_EQ(outcomes(fresh, {range, wrong_way}), "pool pool");
  EXPECT_EQ(row(fresh), ". state role") << "unknown, then AVAILABLE";
  ASSERT_TRUE(fresh.user.take(1));
  EXPECT_EQ(row(fresh), "state . role") << "WRITING";
  const auto lease = fresh.user.take(1);  // element 1: elements come back at the end of the queue
  ASSERT_EQ(lease->element, 1U);
  fresh.user.on_written(*lease);
  EXPECT_EQ(outcomes(fresh, {update(ElementRange{PoolRef(6), 1, 1})}), ".") << "CONSUMED";
  ASSERT_TRUE(fresh.receive(flush_request(kGoldenContext, 6U), kStart));
  EXPECT_EQ(row(fresh), "state state role") << "FLUSHING";
}

}  // namespace splitnic::messaging::pool_control_test
