// Pools that contexts select flows for: which frames each receives, and that none has a frame of
// another flow. docs/protocol/channels.md#pool-contexts
#include "messaging/wire/flow_context.h"

#include "tests/unit/messaging/pools/pool_support.h"

namespace splitnic::messaging::flow_context_test {
using namespace test;

constexpr std::uint32_t kSender = 0x0A630002;  // 10.99.0.2
constexpr std::uint64_t kFrame = flow_context(8080, 22, kSender);

TEST(FlowContextTest, S001_52_each_field_that_is_not_0_must_agree) {
  EXPECT_EQ(kFrame, 0x1F90'0016'0A63'0002ULL) << "as on the page";
  for (const std::uint64_t pool :
       {std::uint64_t{0}, kFrame, flow_context(8080, 0, 0), flow_context(0, 22, 0),
        flow_context(0, 0, kSender), flow_context(8080, 0, kSender)}) {
    EXPECT_TRUE(selects(pool, kFrame)) << pool;
  }
  for (const std::uint64_t pool :
       {flow_context(8081, 0, 0), flow_context(0, 23, 0), flow_context(0, 0, kSender + 1),
        flow_context(22, 8080, 0), flow_context(8080, 22, kSender + 1)}) {
    EXPECT_FALSE(selects(pool, kFrame)) << pool;
  }
  EXPECT_FALSE(selects(flow_context(8080, 0, 0), 0)) << "a frame without ports";
  EXPECT_EQ(fields_selected(0), 0U);
  EXPECT_EQ(fields_selected(flow_context(1, 0, 2)), 2U);
  EXPECT_EQ(fields_selected(kFrame), 3U);
}

PoolRecord pool(std::uint32_t number, std::uint32_t elements, std::uint64_t context,
                std::uint32_t bytes = 2048) {
  PoolRecord made = record(number, elements, bytes, number + 1);
  made.pool_context = context;
  return made;
}

Verdict advertise_all(Side& side, const std::vector<PoolRecord>& records) {
  Message message(kMsgMaxControl);
  message.resize(BufferRecvPool::emit(kUnsolicited, records, message));
  return side.receive(message, kStart);
}

std::uint32_t taken_from(Side& side, std::uint64_t frame, std::uint32_t bytes = 100) {
  const auto lease = side.user.take(bytes, frame);
  return lease ? lease->pool.value : UINT32_MAX;
}

TEST(FlowContextTest, S001_52_the_most_selective_pool_with_room_is_taken) {
  Side side;
  side.user.set_contexts_select(true);
  EXPECT_FALSE(side.user.has_selecting_pools());
  ASSERT_TRUE(advertise_all(
      side, {pool(0, 8, 0), pool(1, 1, flow_context(0, 22, 0)),
             pool(2, 1, flow_context(8080, 22, 0)), pool(3, 1, flow_context(0, 22, 0), 65536)}));
  EXPECT_TRUE(side.user.has_selecting_pools());
  EXPECT_EQ(taken_from(side, flow_context(1, 2, 3)), 0U) << "selected by no pool";
  EXPECT_EQ(taken_from(side, kFrame), 2U);
  EXPECT_EQ(taken_from(side, kFrame), 1U) << "the first is full";
  EXPECT_EQ(taken_from(side, kFrame), 3U);
  EXPECT_EQ(taken_from(side, kFrame), 0U) << "all of them are full";
  EXPECT_EQ(taken_from(side, kFrame, 3000), UINT32_MAX) << "longer than any free element";
}

TEST(FlowContextTest, S001_52_a_frame_that_no_context_selects_waits_although_others_have_room) {
  Side side;
  side.user.set_contexts_select(true);
  ASSERT_TRUE(advertise_all(side, {pool(0, 1, 0), pool(1, 64, flow_context(443, 0, 0))}));
  EXPECT_EQ(side.user.largest_element(), 2048U);
  EXPECT_EQ(taken_from(side, kFrame), 0U);
  EXPECT_EQ(taken_from(side, kFrame), UINT32_MAX);
  EXPECT_EQ(taken_from(side, 0), UINT32_MAX);
}

TEST(FlowContextTest, S001_52_a_pool_that_is_flushed_receives_nothing_more) {
  Side side;
  side.user.set_contexts_select(true);
  ASSERT_TRUE(advertise_all(side, {pool(0, 8, 0), pool(1, 8, kFrame)}));
  EXPECT_EQ(taken_from(side, kFrame), 1U);
  side.user.request_flush(std::array{PoolRef(1)});
  EXPECT_FALSE(side.user.has_selecting_pools());
  EXPECT_EQ(taken_from(side, kFrame), 0U);
}

// Each frame may have to look at every context.
TEST(FlowContextTest, S001_52_a_peer_has_at_most_16_contexts) {
  Side side;
  side.user.set_contexts_select(true);
  std::vector<PoolRecord> records;
  for (std::uint32_t n = 0; n <= kFlowContextsMax; ++n) {
    records.push_back(pool(n, 1, flow_context(static_cast<std::uint16_t>(1 + n), 0, 0)));
  }
  EXPECT_FALSE(advertise_all(side, records));
  EXPECT_EQ(side.drops[DropReason::kRange], 1U);
  records.pop_back();
  EXPECT_TRUE(advertise_all(side, records));
}

}  // namespace splitnic::messaging::flow_context_test
