// The exchange of flush requests and replies, without pools behind it.
#include "messaging/pools/flush_exchange.h"

#include "tests/unit/messaging/pools/pool_support.h"

namespace splitnic::messaging::flush_exchange_test {
using namespace test;

struct FakePool {
  PoolRecord record;
  FlushMark flush;
};

struct FlushExchangeTest : testing::Test {
  FlushExchange flushes{std::chrono::seconds(1)};
  PoolTable<FakePool> pools;
  DropCounters drops;
  ContextSource contexts{100};
  Message out = Message(kMsgMaxControl);

  FakePool& add(std::uint32_t ref) {
    return pools.insert(PoolRef(ref), std::make_unique<FakePool>(FakePool{record(ref, 1, 64), {}}));
  }
  // Returns the length of the request that is sent now, of pools for which `is_ready` holds.
  template <class IsReady>
  std::size_t send(IsReady is_ready, base::Time now = kStart) {
    return flushes.emit_request(
        pools, [this] { return contexts.next(); }, is_ready, now, out);
  }
  std::size_t send() {
    return send([](const FakePool&) { return true; });
  }
  Verdict receive(const Message& request, std::vector<PoolRef>& begun) {
    const auto message = BufferPoolFlushRequest::parse(request);
    EXPECT_TRUE(message);
    return flushes.on_request(*message, drops, [&](PoolRef ref) {
      begun.push_back(ref);
      return ref != PoolRef(77);
    });
  }
};

TEST_F(FlushExchangeTest, S001_17_a_request_names_the_pools_that_are_ready) {
  FakePool& busy = add(1);
  FakePool& quiet = add(2);
  add(3);
  EXPECT_EQ(send(), 0U) << "none is marked";
  flushes.add(busy.flush);
  flushes.add(quiet.flush);
  const auto is_quiet = [&](const FakePool& pool) { return &pool != &busy; };
  EXPECT_EQ(send(is_quiet), BufferPoolFlushRequest::bytes(1));
  EXPECT_TRUE(quiet.flush.is_of(TransactionContext(101)));
  EXPECT_FALSE(busy.flush.is_of(TransactionContext(101)));
  EXPECT_EQ(send(is_quiet), 0U);
  EXPECT_EQ(send(), BufferPoolFlushRequest::bytes(1)) << "the other one, once it is ready";
  EXPECT_FALSE(busy.flush.is_unsent);
  EXPECT_EQ(send(), 0U);
}

TEST_F(FlushExchangeTest, S001_16_a_request_without_a_reply_expires_once) {
  flushes.add(add(1).flush);
  EXPECT_EQ(flushes.deadline(), base::kNever);
  ASSERT_NE(send(), 0U);
  EXPECT_EQ(flushes.deadline(), kStart + std::chrono::seconds(1));
  EXPECT_EQ(flushes.next_expired(flushes.deadline() - std::chrono::nanoseconds(1)), std::nullopt);
  EXPECT_EQ(flushes.next_expired(flushes.deadline()), TransactionContext(101));
  EXPECT_EQ(flushes.next_expired(base::kNever), std::nullopt);
  EXPECT_FALSE(flushes.on_reply(TransactionContext(101))) << "late";
}

TEST_F(FlushExchangeTest, X_41_a_reply_closes_the_request_of_its_context) {
  flushes.add(add(1).flush);
  ASSERT_NE(send(), 0U);
  EXPECT_FALSE(flushes.on_reply(TransactionContext(102))) << "invented";
  EXPECT_TRUE(flushes.on_reply(TransactionContext(101)));
  EXPECT_FALSE(flushes.on_reply(TransactionContext(101))) << "repeated";
  EXPECT_EQ(flushes.deadline(), base::kNever);
}

TEST_F(FlushExchangeTest, S001_17_P_41_a_repeated_request_gets_one_reply) {
  std::vector<PoolRef> begun, ended;
  const auto end = [&](PoolRef ref) { ended.push_back(ref); };
  const Message request = flush_request(TransactionContext(9), 5U, 77U);
  ASSERT_TRUE(receive(request, begun));
  ASSERT_TRUE(receive(request, begun));
  EXPECT_EQ(begun, (std::vector{PoolRef(5), PoolRef(77)})) << "begun once";
  EXPECT_EQ(drops[DropReason::kPool], 1U) << "the unknown pool is counted";

  EXPECT_EQ(flushes.emit_reply([](PoolRef) { return false; }, end, out), 0U);
  EXPECT_TRUE(ended.empty());
  const std::size_t length = flushes.emit_reply([](PoolRef) { return true; }, end, out);
  EXPECT_EQ(hex(Message(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(length))),
            hex(flush_reply(TransactionContext(9))));
  EXPECT_EQ(ended, std::vector{PoolRef(5)});
  EXPECT_EQ(flushes.emit_reply([](PoolRef) { return true; }, end, out), 0U);
}

TEST_F(FlushExchangeTest, P_41_replies_that_wait_are_bounded) {
  std::vector<PoolRef> begun;
  EXPECT_GE(FlushExchange::kRepliesMax, 16U) << "P-POOL-19";
  for (std::uint64_t i = 1; i <= FlushExchange::kRepliesMax; ++i) {
    ASSERT_TRUE(receive(flush_request(TransactionContext(i), 5U), begun));
  }
  begun.clear();
  EXPECT_EQ(reason(receive(flush_request(TransactionContext(99), 5U), begun)), DropReason::kState);
  EXPECT_TRUE(begun.empty());
  flushes.clear();
  EXPECT_TRUE(receive(flush_request(TransactionContext(99), 5U), begun));
}

}  // namespace splitnic::messaging::flush_exchange_test
