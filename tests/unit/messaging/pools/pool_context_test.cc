// The pool context travels and decides nothing: two connections whose pools differ in their
// contexts only behave alike, message for message [S001-12].
#include <iterator>
#include <limits>

#include "tests/unit/messaging/pools/pool_support.h"

namespace splitnic::messaging::pool_context_test {
using namespace test;

constexpr std::uint64_t kContexts[] = {0,
                                       1,
                                       0xFFFF,
                                       std::uint64_t{1} << 63,
                                       0x0123456789ABCDEF,
                                       std::numeric_limits<std::uint64_t>::max()};

PoolMemory with_context(PoolMemory memory, std::uint64_t context) {
  memory.pool_context = context;
  return memory;
}

// Returns what a peer observes of two pools with this context: leases, updates, a refused message,
// a flush.
std::vector<std::string> life_of_pools(std::uint64_t context) {
  std::vector<std::string> seen;
  Side owner(100), user(200);
  owner.owner.add(with_context(memory(4, 2048, 1), context));
  owner.owner.add(with_context(memory(2, 65536, 2), context));
  settle(owner, user, kStart);
  for (const std::uint32_t pool : {0U, 1U}) {
    EXPECT_EQ(user.used(PoolRef(pool)).record.pool_context, context);
    EXPECT_EQ(owner.owned(PoolRef(pool)).record.pool_context, context);
  }
  for (int i = 0; i < 4; ++i) {
    const auto lease = user.user.take(100);
    EXPECT_TRUE(lease);
    if (!lease) return seen;
    seen.push_back(std::to_string(lease->address.value) + " " + std::to_string(*lease->idata));
    user.user.on_written(*lease);
    const auto filled = written(owner.owner, *lease->idata, 100, kStart);
    EXPECT_TRUE(filled);
    if (filled) owner.owner.release(filled->pool, filled->element, filled->count, kStart);
  }
  const Message update = owner.next(after(std::chrono::microseconds(200)));
  seen.push_back(hex(update));
  EXPECT_TRUE(user.receive(update, kStart));
  EXPECT_FALSE(user.receive(advertise(record(0, 4, 2048)), kStart)) << "the reference is in use";
  const std::array refs{PoolRef(0), PoolRef(1)};
  owner.owner.request_flush(refs);
  settle(owner, user, kStart);
  EXPECT_TRUE(user.user.empty());
  EXPECT_TRUE(owner.owner.is_closed());
  return seen;
}

TEST(PoolContextTest, S001_12_every_context_is_carried_and_none_changes_what_happens) {
  const std::vector<std::string> plain = life_of_pools(0);
  ASSERT_EQ(plain.size(), 5U);
  for (const std::uint64_t context : kContexts) EXPECT_EQ(life_of_pools(context), plain) << context;
}

// More of them than a connection may have whose contexts select flows [S001-52].
TEST(PoolContextTest, S001_12_pools_of_one_advertisement_may_have_any_contexts) {
  Side user;
  Message message(kMsgMaxControl);
  std::vector<PoolRecord> records;
  std::vector<std::uint64_t> contexts(std::begin(kContexts), std::end(kContexts));
  for (std::uint64_t i = 0; i < kFlowContextsMax; ++i) contexts.push_back(1000 + i);
  for (const std::uint64_t context : contexts) {
    const auto number = static_cast<std::uint32_t>(records.size());
    records.push_back(record(number, 4, 2048, number + 1));
    records.back().pool_context = context;
    records.push_back(record(100 + number, 4, 2048, 1001 + number));
    records.back().pool_context = context;  // twice the same
  }
  message.resize(BufferRecvPool::emit(kUnsolicited, records, message));
  ASSERT_TRUE(user.receive(message, kStart));
  for (const PoolRecord& expected : records) EXPECT_EQ(user.used(expected.pool).record, expected);
}

}  // namespace splitnic::messaging::pool_context_test
