// A channel pair of the rdma mode: connection, pushes in both directions, pools, and the channel of
// each message.
#include <gtest/gtest.h>

#include "messaging/connect.pb.h"
#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_rdma_test {
namespace {

using namespace std::chrono_literals;
using messaging::harness::ChannelFixture;
using messaging::harness::ChannelSide;

std::size_t sent_cells(const ChannelSide& side, fabric::Op op) {
  return static_cast<std::size_t>(std::ranges::count_if(
      side.tap.cells, [&](const auto& c) { return c.sent && c.header().op == op; }));
}

TEST(ChannelRdma, S001_27_one_connection_gives_two_channels) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  EXPECT_EQ(harness.unit().ups, 1);
  EXPECT_EQ(harness.host().ups, 1);
  EXPECT_EQ(harness.unit().pair->peer_name(), "host");
  EXPECT_EQ(harness.host().pair->peer_name(), "unit");
  EXPECT_EQ(harness.unit().adapter->qp_count(), 2U);
  EXPECT_EQ(harness.host().adapter->qp_count(), 2U);
  EXPECT_EQ(harness.unit().adapter->find_qp(harness.unit().pair->qpn(0))->service(),
            fabric::Service::kRc);
  EXPECT_EQ(harness.unit().adapter->find_qp(harness.unit().pair->qpn(1))->service(),
            fabric::Service::kRc);
  EXPECT_EQ(harness.host().pair->frame_bytes_max(), 65536U);
}

TEST(ChannelRdma, another_mode_is_refused_in_one_line) {
  ChannelFixture harness({.unit = {.mode = Mode::kSend, .follows_peer_mode = false}});
  harness.begin_connect();
  ASSERT_TRUE(harness.run_until([&] { return !harness.host().downs.empty(); }, 1s));
  EXPECT_EQ(harness.host().refused, fabric::MgmtReject::kRefused);
  EXPECT_EQ(harness.host().downs[0],
            "refused: refused (the other side speaks another mode: give both the same --mode)");
  EXPECT_EQ(harness.unit().adapter->qp_count(), 0U);
}

TEST(ChannelRdma, another_version_is_refused_in_one_line) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  connect::Capabilities theirs;
  theirs.set_mode(connect::MODE_RDMA);
  theirs.set_version_lowest(2);
  theirs.set_version_highest(3);
  const std::string capabilities = theirs.SerializeAsString();
  fabric::MgmtPair pair;
  pair.qpn = fabric::Qpn(77);
  harness.host().adapter->connections().connect(*harness.host().link, {&pair, 1},
                                                base::as_bytes(capabilities), harness.clock.now());
  ASSERT_TRUE(
      harness.run_until([&] { return harness.host().refused != fabric::MgmtReject::kNone; }, 1s));
  EXPECT_EQ(harness.host().refused, fabric::MgmtReject::kRefused);
  EXPECT_EQ(harness.host().refusal, "message protocol version 1 is needed");
}

TEST(ChannelRdma, the_shorter_message_of_both_sides_holds) {
  ChannelFixture harness(
      {.unit = {.control_message_max = 1024}, .host = {.control_message_max = 512}});
  ASSERT_TRUE(harness.connect());
  EXPECT_FALSE(harness.unit().pair->request(CfgCode::kEcho, std::string(500, 'x'), {}));
  int replies = 0;
  ASSERT_TRUE(harness.unit().pair->request(CfgCode::kEcho, std::string(400, 'x'),
                                           [&](const CfgReply& r) { replies += r.replied; }));
  EXPECT_TRUE(harness.run_until([&] { return replies == 1; }, 1s));
  for (int i = 0; i < 2000; ++i) harness.host().queue(1500);
  EXPECT_TRUE(harness.deliver());
}

TEST(ChannelRdma, S001_04_either_side_pushes_without_being_asked) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  harness.run_for(10ms);
  for (std::size_t i = 0; i < 2; ++i) {
    harness.side(i).tap.is_recording = true;
    for (std::size_t bytes = 60; bytes < 1600; bytes += 10) harness.side(i).queue(bytes);
  }
  ASSERT_TRUE(harness.deliver());
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& cells = harness.side(i).tap.cells;
    const auto first = std::ranges::find_if(
        cells, [](const auto& c) { return c.sent && c.header().op != fabric::Op::kAck; });
    ASSERT_NE(first, cells.end());
    EXPECT_EQ(first->header().op, fabric::Op::kRdmaWrite);
    EXPECT_GT(sent_cells(harness.side(i), fabric::Op::kRdmaWrite), 150U);
    EXPECT_EQ(sent_cells(harness.side(i), fabric::Op::kRdmaReadReq), 0U);
    EXPECT_EQ(sent_cells(harness.side(i), fabric::Op::kRdmaReadResp), 0U);
    EXPECT_TRUE(harness.side(i).wrong.empty());
  }
}

TEST(ChannelRdma, S001_27_sends_on_channel_0_writes_on_channel_1_and_loss_is_made_good) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  for (std::size_t i = 0; i < 2; ++i) {
    harness.side(i).faults.set_config({.loss_ppm = 10000});
    harness.side(i).tap.is_recording = true;
    for (int n = 0; n < 3000; ++n) harness.side(i).queue(1500);
  }
  ASSERT_TRUE(harness.deliver());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(harness.side(i).taken, 3000U);
    EXPECT_EQ(harness.side(i).gaps, 0U);
    EXPECT_TRUE(harness.side(i).wrong.empty());
    const ChannelPair& peer = *harness.side(1 - i).pair;
    for (const auto& cell : harness.side(i).tap.cells) {
      if (!cell.sent) continue;
      const fabric::MacHeader header = cell.header();
      if (header.op == fabric::Op::kSend) {
        EXPECT_EQ(header.dqpn, peer.qpn(0));
      } else if (header.op == fabric::Op::kRdmaWrite) {
        EXPECT_EQ(header.dqpn, peer.qpn(1));
      }
    }
    EXPECT_GT(sent_cells(harness.side(i), fabric::Op::kSend), 0U);
  }
}

TEST(ChannelRdma, S001_18_no_control_message_for_a_frame_and_no_rnr) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  harness.run_for(10ms);
  const std::uint64_t before =
      harness.host().count("msg.tx.control") + harness.unit().count("msg.tx.control");
  constexpr std::uint64_t kFrames = 20000;
  for (std::uint64_t n = 0; n < kFrames; ++n) harness.host().queue(1500);
  ASSERT_TRUE(harness.deliver());
  EXPECT_EQ(harness.unit().count("msg.rx.writes"), kFrames);
  EXPECT_EQ(harness.unit().count("msg.rx.indicated"), 0U);
  // The initiator sends no message; the owner returns elements in batches.
  const std::uint64_t after =
      harness.host().count("msg.tx.control") + harness.unit().count("msg.tx.control");
  EXPECT_LE(after - before, kFrames / 32);
  EXPECT_GT(after - before, 0U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(harness.side(i).count("fabric.tx.rnr"), 0U);
    EXPECT_EQ(harness.side(i).count("fabric.rx.rnr"), 0U);
  }
}

TEST(ChannelRdma, S001_07_X_02_each_side_is_initiator_and_target_with_its_own_tables) {
  ChannelFixture harness(
      {.unit = {.pools = {{64, 2048}}}, .host = {.pools = {{32, 4096}, {8, 65536}}}});
  ASSERT_TRUE(harness.connect());
  EXPECT_EQ(harness.unit().pool_elements(true), std::pair(std::size_t{64}, std::size_t{64}));
  EXPECT_EQ(harness.unit().pool_elements(false), std::pair(std::size_t{40}, std::size_t{40}));
  EXPECT_EQ(harness.host().pool_elements(true), std::pair(std::size_t{40}, std::size_t{40}));
  EXPECT_EQ(harness.host().pool_elements(false), std::pair(std::size_t{64}, std::size_t{64}));
  // Both number their pools from 0.
  EXPECT_EQ(harness.unit().pool_refs(true).front(), harness.host().pool_refs(true).front());
  for (int n = 0; n < 1000; ++n) {
    harness.host().queue(60 + static_cast<std::size_t>(n) % 1900);
    harness.unit().queue(60 + static_cast<std::size_t>(n) * 37 % 60000);
  }
  ASSERT_TRUE(harness.deliver());
  EXPECT_EQ(harness.unit().taken, 1000U);
  EXPECT_EQ(harness.host().taken, 1000U);
  EXPECT_TRUE(harness.unit().wrong.empty());
  EXPECT_TRUE(harness.host().wrong.empty());
}

TEST(ChannelRdma, S001_14_what_the_reader_holds_is_not_returned_and_not_written) {
  ChannelFixture harness({.unit = {.pools = {{32, 2048}}, .grant_bytes_max = 0}});
  ASSERT_TRUE(harness.connect());
  harness.unit().holds = true;
  for (int n = 0; n < 100; ++n) harness.host().queue(1500);
  harness.run_for(500ms);
  // No Update came, so the flow stopped at the number of elements.
  EXPECT_EQ(harness.unit().taken, 32U);
  EXPECT_EQ(harness.unit().held.size(), 32U);
  EXPECT_EQ(harness.host().pool_elements(false).second, 0U);
  EXPECT_GE(harness.host().count("pool.wait"), 1U);
  const auto kept = harness.unit().held.front();
  const std::vector<std::byte> before(kept.bytes.begin(), kept.bytes.end());
  // All but the oldest go back, several times over.
  harness.unit().held.pop_front();
  harness.unit().release_held();
  harness.unit().holds = false;
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().taken == 100; }, 5s));
  EXPECT_TRUE(std::ranges::equal(kept.bytes, before));
  EXPECT_TRUE(harness.unit().wrong.empty());
  harness.unit().pair->release(kept, harness.clock.now());
  for (int n = 0; n < 100; ++n) harness.host().queue(1500);
  EXPECT_TRUE(harness.deliver());
}

TEST(ChannelRdma, S001_15_one_update_returns_elements_of_several_pools) {
  ChannelFixture harness({.unit = {.pools = {{16, 256}, {16, 1024}, {16, 4096}}}});
  ASSERT_TRUE(harness.connect());
  harness.unit().holds = true;
  for (int n = 0; n < 16; ++n) harness.host().queue(200);
  for (int n = 0; n < 16; ++n) harness.host().queue(1000);
  for (int n = 0; n < 16; ++n) harness.host().queue(4000);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().taken == 48; }, 5s));
  const std::uint64_t before = harness.unit().count("msg.tx.control");
  harness.unit().release_held();
  ASSERT_TRUE(
      harness.run_until([&] { return harness.host().pool_elements(false).second == 48; }, 1s));
  EXPECT_EQ(harness.unit().count("msg.tx.control") - before, 1U);
}

TEST(ChannelRdma, S001_15_update_of_an_unknown_pool_changes_nothing_and_is_counted) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  for (int n = 0; n < 10; ++n) harness.host().queue(1500);
  ASSERT_TRUE(harness.deliver());
  const auto before = harness.host().pool_elements(false);
  std::array<std::byte, 64> message;
  const std::array records = {ElementRange{PoolRef(200), 0, 1}};
  const std::size_t bytes = BufferRecvPoolUpdate::emit(kUnsolicited, records, message);
  harness.unit().pair->TEST_send(base::Bytes(message).first(bytes));
  harness.run_for(10ms);
  EXPECT_EQ(harness.host().count("msg.drop.pool"), 1U);
  EXPECT_EQ(harness.host().pool_elements(false), before);
  EXPECT_TRUE(harness.host().pair->up());
}

TEST(ChannelRdma, P_40_update_of_an_element_that_is_available_takes_the_pair_down) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  std::array<std::byte, 64> message;
  const std::array records = {ElementRange{PoolRef(0), 0, 1}};
  const std::size_t bytes = BufferRecvPoolUpdate::emit(kUnsolicited, records, message);
  harness.unit().pair->TEST_send(base::Bytes(message).first(bytes));
  ASSERT_TRUE(harness.run_until([&] { return !harness.host().downs.empty(); }, 1s));
  EXPECT_EQ(harness.host().downs[0], "the peer returned an element that it did not have");
  EXPECT_EQ(harness.host().count("msg.drop.state"), 1U);
}

TEST(ChannelRdma, S001_22_X_04_the_frame_lies_only_at_its_final_address) {
  ChannelFixture harness({.unit = {.pools = {{16, 2048}}}});
  ASSERT_TRUE(harness.connect());
  const auto pools = harness.unit().pair->TEST_pool_memory();
  ASSERT_EQ(pools.size(), 1U);
  for (const base::MutableBytes pool : pools) std::ranges::fill(pool, std::byte{0xA5});
  harness.unit().holds = true;
  for (int n = 0; n < 3; ++n) harness.host().queue(100);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().held.size() == 3; }, 1s));
  for (const ReceivedFrame& frame : harness.unit().held) {
    EXPECT_EQ(frame.bytes.size(), 100U);  // as in the completion and the idata
    EXPECT_EQ(frame.bytes.data(), pools[0].data() + std::size_t{frame.element} * 2048);
  }
  const auto written =
      std::ranges::count_if(pools[0], [](std::byte b) { return b != std::byte{0xA5}; });
  EXPECT_LE(written, 300);
  EXPECT_TRUE(harness.unit().wrong.empty());
}

TEST(ChannelRdma, P_42_more_than_16_element_sizes_are_refused_whole) {
  std::vector<PoolSpec> pools;
  for (std::uint32_t i = 1; i <= 17; ++i) pools.push_back({4, 64 * i});
  ChannelFixture harness({.unit = {.pools = pools}});
  harness.begin_connect();
  harness.run_for(200ms);
  EXPECT_EQ(harness.host().count("msg.drop.range"), 1U);
  EXPECT_FALSE(harness.host().pair->up());
  EXPECT_TRUE(harness.host().pool_refs(false).empty());
}

TEST(ChannelRdma, a_peer_that_disconnects_is_reported_once) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  harness.unit().pair->close(harness.clock.now());
  ASSERT_TRUE(harness.run_until([&] { return !harness.host().downs.empty(); }, 1s));
  harness.run_for(1s);
  EXPECT_EQ(harness.host().downs.size(), 1U);
  EXPECT_EQ(harness.unit().adapter->qp_count(), 0U);
  // A new pair works.
  ASSERT_TRUE(harness.connect());
  for (int n = 0; n < 10; ++n) harness.host().queue(1500);
  EXPECT_TRUE(harness.run_until([&] { return harness.unit().taken == 10; }, 1s));
  EXPECT_EQ(harness.unit().gaps, 0U);
  EXPECT_TRUE(harness.unit().wrong.empty());
}

}  // namespace
}  // namespace splitnic::messaging::channel_rdma_test
