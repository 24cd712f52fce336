// A peer that lies about the address of its writes, or sends requests and never receives a reply.
#include <gtest/gtest.h>

#include "messaging/wire/buffer_recv_pool_get.h"
#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_liar_test {
namespace {

using namespace std::chrono_literals;
using messaging::harness::ChannelFixture;
using messaging::harness::ChannelSide;

PoolView pool_of(ChannelSide& side, std::uint32_t ref) {
  for (const PoolView& pool : side.pair->pools()) {
    if (pool.ours && pool.ref == ref) return pool;
  }
  return {};
}

// Makes the host accept `record` as a pool of the unit.
void advertise(ChannelFixture& harness, const PoolRecord& record) {
  std::array<std::byte, 128> message;
  const std::size_t bytes = BufferRecvPool::emit(kUnsolicited, std::array{record}, message);
  harness.unit().pair->TEST_send(base::Bytes(message).first(bytes));
  harness.run_for(1ms);
}

// Makes the host forget pool `ref` while the unit still uses it.
void forget(ChannelFixture& harness, std::uint32_t ref) {
  std::array<std::byte, 64> message;
  const std::size_t bytes = BufferPoolFlushRequest::emit(
      TransactionContext(1234), std::array{FlushRecord{PoolRef(ref)}}, message);
  harness.unit().pair->TEST_send(base::Bytes(message).first(bytes));
  harness.run_for(1ms);
}

TEST(ChannelLiar, S001_14_an_element_that_is_not_posted_cannot_be_written) {
  ChannelFixture harness({.unit = {.pools = {{4, 2048}}}});
  ASSERT_TRUE(harness.connect());
  harness.unit().holds = true;
  for (int n = 0; n < 4; ++n) harness.host().queue(1000);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().held.size() == 4; }, 1s));
  const base::MutableBytes first = harness.unit().held.front().bytes;
  const std::vector<std::byte> before(first.begin(), first.end());
  const PoolView real = pool_of(harness.unit(), 0);
  forget(harness, 0);
  advertise(harness, {PoolRef(77), 1, 2048, real.handle, real.address, 0});
  harness.host().queue(1000);  // goes to the filled element
  ASSERT_TRUE(harness.run_until([&] { return !harness.host().downs.empty(); }, 5s));
  EXPECT_EQ(harness.host().downs[0], "channel 1: remote_access");
  EXPECT_TRUE(std::ranges::equal(first, before));
}

TEST(ChannelLiar, P_38_an_indication_must_name_where_the_write_went) {
  ChannelFixture harness({.unit = {.pools = {{4, 2048}}}});
  ASSERT_TRUE(harness.connect());
  const PoolView real = pool_of(harness.unit(), 0);
  forget(harness, 0);
  ASSERT_TRUE(harness.host().pool_refs(false).empty());
  // Shifted by one element: what the idata calls element 0 is written to element 1.
  advertise(harness, {PoolRef(0), 3, 2048, real.handle,
                      fabric::VirtualAddress(real.address.value + 2048), 0});
  harness.host().queue(1000);
  ASSERT_TRUE(harness.run_until([&] { return harness.host().completed == 1; }, 1s));
  harness.run_for(1ms);
  EXPECT_EQ(harness.unit().taken, 0U);
  EXPECT_EQ(harness.unit().count("msg.drop.range"), 1U);
  EXPECT_EQ(pool_of(harness.unit(), 0).available, 4U);
}

// Channel 0 takes no RDMA at all, so its refusal comes before the checks of the key.
TEST(ChannelLiar, S001_27_P_CH_8_a_write_on_channel_0_gets_a_nak_and_changes_nothing) {
  ChannelFixture harness({.unit = {.pools = {{4, 2048}}}});
  ASSERT_TRUE(harness.connect());
  ChannelSide& host = harness.host();
  fabric::Mrwt& memory = host.adapter->memory();
  std::vector<std::byte> bytes(1000, std::byte{7});
  const auto region =
      memory.regions()
          .register_region(memory.entry(pool_of(host, 0).handle)->pd, bytes, fabric::kLocalRead)
          .value();
  const PoolView target = pool_of(harness.unit(), 0);
  const fabric::Sge piece{memory.start_of(region), 1000, region};
  fabric::SendWr wr;
  wr.op = fabric::WrOp::kRdmaWrite;
  wr.gather = {&piece, 1};
  wr.remote_address = target.address;
  wr.remote_handle = target.handle;
  host.tap.is_recording = true;
  const fabric::Qpn channel_0 = host.pair->qpn(0);
  ASSERT_TRUE(host.adapter->post_send(channel_0, wr));
  fabric::AckExt nak;
  ASSERT_TRUE(harness.run_until(
      [&] {
        return std::ranges::any_of(host.tap.cells, [&](const auto& cell) {
          return !cell.sent && cell.header().op == fabric::Op::kNak &&
                 cell.header().dqpn == channel_0 && fabric::parse_ack(cell.view(), nak);
        });
      },
      1s));
  EXPECT_EQ(nak.code, fabric::AckCode::kInvalidRequest);
  for (const base::MutableBytes pool : harness.unit().pair->TEST_pool_memory()) {
    EXPECT_TRUE(std::ranges::all_of(pool, [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(ChannelLiar, S001_14_memory_of_a_pool_begins_as_zeros) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  for (const base::MutableBytes pool : harness.unit().pair->TEST_pool_memory()) {
    EXPECT_TRUE(std::ranges::all_of(pool, [](std::byte b) { return b == std::byte{0}; }));
  }
}

void get_one(ChannelFixture& harness, std::uint64_t context) {
  std::array<std::byte, 64> message;
  const BufferRecvPoolGet get{TransactionContext(context), 64, 1};
  const std::size_t bytes = get.emit(message);
  harness.host().pair->TEST_send(base::Bytes(message).first(bytes));
}

// Each costs two entries of the adapter's table, which all hosts share: a region and a window.
TEST(ChannelLiar, S001_13_R_62_a_peer_gets_no_more_than_16_pools) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  const std::size_t before = harness.unit().pool_refs(true).size();
  const std::size_t entries = harness.unit().adapter->memory().live_count();
  for (std::uint64_t context = 1; context <= 40; ++context) {
    get_one(harness, context);
    harness.run_for(1ms);
  }
  EXPECT_EQ(harness.unit().count("pool.granted"), 16U);
  EXPECT_EQ(harness.unit().count("pool.refused"), 24U);
  EXPECT_EQ(harness.unit().pool_refs(true).size(), before + 16);
  EXPECT_EQ(harness.unit().adapter->memory().live_count(), entries + 2 * 16);
  EXPECT_TRUE(harness.unit().pair->up());
  harness.host().queue(1500);
  EXPECT_TRUE(harness.deliver());
}

// An offset in the only exposed pool names no second one.
TEST(ChannelLiar, S001_13_S001_20_a_peer_gets_no_second_pool_with_the_offset_form) {
  ChannelFixture harness({.unit = {.pools = {{64, 2048}}, .idata_form = IdataForm::kOffsetLength}});
  ASSERT_TRUE(harness.connect());
  get_one(harness, 1);
  harness.run_for(1ms);
  EXPECT_EQ(harness.unit().count("pool.refused"), 1U);
  EXPECT_EQ(harness.unit().count("pool.granted"), 0U);
  EXPECT_EQ(harness.unit().pool_refs(true).size(), 1U);
  EXPECT_TRUE(harness.unit().pair->up());
  harness.host().queue(1500);
  EXPECT_TRUE(harness.deliver());
}

// All references below 256 are in use, then one ends and another is requested in the same
// iteration.
TEST(ChannelLiar, P_41_a_reference_that_ends_is_reused_in_the_same_iteration) {
  ChannelFixture harness({.unit = {.pools = std::vector<PoolSpec>(248, PoolSpec{1, 64})}});
  ASSERT_TRUE(harness.connect());
  std::uint64_t context = 1;
  while (harness.unit().pool_refs(true).size() < 256) {
    const std::size_t before = harness.unit().pool_refs(true).size();
    get_one(harness, context++);
    ASSERT_TRUE(
        harness.run_until([&] { return harness.unit().pool_refs(true).size() > before; }, 1s));
  }
  std::array<std::byte, 64> message;
  const std::size_t bytes = BufferPoolFlushRequest::emit(
      TransactionContext(std::uint64_t{1} << 63 | 7), std::array{FlushRecord{PoolRef(0)}}, message);
  harness.host().pair->TEST_send(base::Bytes(message).first(bytes));
  get_one(harness, context);
  harness.run_for(10ms);
  EXPECT_TRUE(harness.unit().pair->up());
  EXPECT_EQ(harness.unit().pool_refs(true).size(), 256U);
}

TEST(ChannelLiar, S001_24_replies_that_nobody_takes_are_bounded) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  std::array<std::byte, 64> message;
  const CfgUtilRequest request{TransactionContext(5), CfgCode::kEcho, {}};
  const std::size_t bytes = request.emit(message);
  for (int n = 0; n < 20; ++n) harness.host().pair->TEST_send(base::Bytes(message).first(bytes));
  harness.unit().polls = false;
  harness.run_for(1ms);  // all are there when the unit looks
  harness.unit().polls = true;
  harness.run_for(10ms);
  EXPECT_EQ(harness.unit().count("msg.drop.replies"), 12U);
  EXPECT_EQ(harness.unit().asked[CfgCode::kEcho], 1);
  EXPECT_TRUE(harness.unit().pair->up());
}

}  // namespace
}  // namespace splitnic::messaging::channel_liar_test
