// A channel pair of the rdma mode: connection, pushes both ways, pools, what travels where.
#include <gtest/gtest.h>

#include "messaging/connect.pb.h"
#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_rdma_test {
namespace {

using namespace std::chrono_literals;
using messaging::bench::ChannelBench;
using messaging::bench::ChannelSide;

std::size_t sent_cells(const ChannelSide& side, fabric::Op op) {
  return static_cast<std::size_t>(std::ranges::count_if(
      side.tap.cells, [&](const auto& c) { return c.sent && c.header().op == op; }));
}

TEST(ChannelRdma, S001_27_one_connection_gives_two_channels) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  EXPECT_EQ(bench.unit().ups, 1);
  EXPECT_EQ(bench.host().ups, 1);
  EXPECT_EQ(bench.unit().pair->peer_name(), "host");
  EXPECT_EQ(bench.host().pair->peer_name(), "unit");
  EXPECT_EQ(bench.unit().adapter->qp_count(), 2U);
  EXPECT_EQ(bench.host().adapter->qp_count(), 2U);
  EXPECT_EQ(bench.unit().adapter->find_qp(bench.unit().pair->qpn(0))->service(),
            fabric::Service::kRc);
  EXPECT_EQ(bench.unit().adapter->find_qp(bench.unit().pair->qpn(1))->service(),
            fabric::Service::kRc);
  EXPECT_EQ(bench.host().pair->frame_bytes_max(), 65536U);
}

TEST(ChannelRdma, another_mode_is_refused_in_one_line) {
  ChannelBench bench({.unit = {.mode = Mode::kSend, .follows_peer_mode = false}});
  bench.begin_connect();
  ASSERT_TRUE(bench.run_until([&] { return !bench.host().downs.empty(); }, 1s));
  EXPECT_EQ(bench.host().refused, fabric::MgmtReject::kRefused);
  EXPECT_EQ(bench.host().downs[0],
            "refused: refused (the other side speaks another mode: give both the same --mode)");
  EXPECT_EQ(bench.unit().adapter->qp_count(), 0U);
}

TEST(ChannelRdma, another_version_is_refused_in_one_line) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  connect::Capabilities theirs;
  theirs.set_mode(connect::MODE_RDMA);
  theirs.set_version_lowest(2);
  theirs.set_version_highest(3);
  const std::string capabilities = theirs.SerializeAsString();
  fabric::MgmtPair pair;
  pair.qpn = fabric::Qpn(77);
  bench.host().adapter->connections().connect(*bench.host().link, {&pair, 1},
                                              base::as_bytes(capabilities), bench.clock.now());
  ASSERT_TRUE(
      bench.run_until([&] { return bench.host().refused != fabric::MgmtReject::kNone; }, 1s));
  EXPECT_EQ(bench.host().refused, fabric::MgmtReject::kRefused);
  EXPECT_EQ(bench.host().refusal, "message protocol version 1 is needed");
}

TEST(ChannelRdma, the_shorter_message_of_both_sides_holds) {
  ChannelBench bench({.unit = {.control_message_max = 1024}, .host = {.control_message_max = 512}});
  ASSERT_TRUE(bench.connect());
  EXPECT_FALSE(
      bench.unit().pair->request(CfgCode::kEcho, std::string(500, 'x'), bench.clock.now(), {}));
  int replies = 0;
  ASSERT_TRUE(bench.unit().pair->request(CfgCode::kEcho, std::string(400, 'x'), bench.clock.now(),
                                         [&](const CfgReply& r) { replies += r.replied; }));
  EXPECT_TRUE(bench.run_until([&] { return replies == 1; }, 1s));
  for (int i = 0; i < 2000; ++i) bench.host().queue(1500);
  EXPECT_TRUE(bench.deliver());
}

TEST(ChannelRdma, S001_04_either_side_pushes_without_being_asked) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  bench.run_for(10ms);
  for (std::size_t i = 0; i < 2; ++i) {
    bench.side(i).tap.is_recording = true;
    for (std::size_t bytes = 60; bytes < 1600; bytes += 10) bench.side(i).queue(bytes);
  }
  ASSERT_TRUE(bench.deliver());
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& cells = bench.side(i).tap.cells;
    const auto first = std::ranges::find_if(
        cells, [](const auto& c) { return c.sent && c.header().op != fabric::Op::kAck; });
    ASSERT_NE(first, cells.end());
    EXPECT_EQ(first->header().op, fabric::Op::kRdmaWrite);
    EXPECT_GT(sent_cells(bench.side(i), fabric::Op::kRdmaWrite), 150U);
    EXPECT_EQ(sent_cells(bench.side(i), fabric::Op::kRdmaReadReq), 0U);
    EXPECT_EQ(sent_cells(bench.side(i), fabric::Op::kRdmaReadResp), 0U);
    EXPECT_TRUE(bench.side(i).wrong.empty());
  }
}

TEST(ChannelRdma, S001_27_sends_on_channel_0_writes_on_channel_1_and_loss_is_made_good) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  for (std::size_t i = 0; i < 2; ++i) {
    bench.side(i).faults.set_config({.loss_ppm = 10000});
    bench.side(i).tap.is_recording = true;
    for (int n = 0; n < 3000; ++n) bench.side(i).queue(1500);
  }
  ASSERT_TRUE(bench.deliver());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(bench.side(i).taken, 3000U);
    EXPECT_EQ(bench.side(i).gaps, 0U);
    EXPECT_TRUE(bench.side(i).wrong.empty());
    const ChannelPair& peer = *bench.side(1 - i).pair;
    for (const auto& cell : bench.side(i).tap.cells) {
      if (!cell.sent) continue;
      const fabric::MacHeader header = cell.header();
      if (header.op == fabric::Op::kSend) {
        EXPECT_EQ(header.dqpn, peer.qpn(0));
      } else if (header.op == fabric::Op::kRdmaWrite) {
        EXPECT_EQ(header.dqpn, peer.qpn(1));
      }
    }
    EXPECT_GT(sent_cells(bench.side(i), fabric::Op::kSend), 0U);
  }
}

TEST(ChannelRdma, S001_18_no_control_message_for_a_frame_and_no_rnr) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  bench.run_for(10ms);
  const std::uint64_t before =
      bench.host().count("msg.tx.control") + bench.unit().count("msg.tx.control");
  constexpr std::uint64_t kFrames = 20000;
  for (std::uint64_t n = 0; n < kFrames; ++n) bench.host().queue(1500);
  ASSERT_TRUE(bench.deliver());
  EXPECT_EQ(bench.unit().count("msg.rx.writes"), kFrames);
  EXPECT_EQ(bench.unit().count("msg.rx.indicated"), 0U);
  // The initiator says nothing; the owner returns elements in batches.
  const std::uint64_t after =
      bench.host().count("msg.tx.control") + bench.unit().count("msg.tx.control");
  EXPECT_LE(after - before, kFrames / 32);
  EXPECT_GT(after - before, 0U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(bench.side(i).count("fabric.tx.rnr"), 0U);
    EXPECT_EQ(bench.side(i).count("fabric.rx.rnr"), 0U);
  }
}

TEST(ChannelRdma, S001_07_each_side_is_initiator_and_target_with_its_own_tables) {
  ChannelBench bench(
      {.unit = {.pools = {{64, 2048}}}, .host = {.pools = {{32, 4096}, {8, 65536}}}});
  ASSERT_TRUE(bench.connect());
  EXPECT_EQ(bench.unit().pool_elements(true), std::pair(std::size_t{64}, std::size_t{64}));
  EXPECT_EQ(bench.unit().pool_elements(false), std::pair(std::size_t{40}, std::size_t{40}));
  EXPECT_EQ(bench.host().pool_elements(true), std::pair(std::size_t{40}, std::size_t{40}));
  EXPECT_EQ(bench.host().pool_elements(false), std::pair(std::size_t{64}, std::size_t{64}));
  // Both number their pools from 0.
  EXPECT_EQ(bench.unit().pool_refs(true).front(), bench.host().pool_refs(true).front());
  for (int n = 0; n < 1000; ++n) {
    bench.host().queue(60 + static_cast<std::size_t>(n) % 1900);
    bench.unit().queue(60 + static_cast<std::size_t>(n) * 37 % 60000);
  }
  ASSERT_TRUE(bench.deliver());
  EXPECT_EQ(bench.unit().taken, 1000U);
  EXPECT_EQ(bench.host().taken, 1000U);
  EXPECT_TRUE(bench.unit().wrong.empty());
  EXPECT_TRUE(bench.host().wrong.empty());
}

TEST(ChannelRdma, S001_14_what_the_reader_holds_is_not_returned_and_not_written) {
  ChannelBench bench({.unit = {.pools = {{32, 2048}}, .grant_bytes_max = 0}});
  ASSERT_TRUE(bench.connect());
  bench.unit().holds = true;
  for (int n = 0; n < 100; ++n) bench.host().queue(1500);
  bench.run_for(500ms);
  // No Update came, so the flow stopped at the number of elements.
  EXPECT_EQ(bench.unit().taken, 32U);
  EXPECT_EQ(bench.unit().held.size(), 32U);
  EXPECT_EQ(bench.host().pool_elements(false).second, 0U);
  EXPECT_GE(bench.host().count("pool.wait"), 1U);
  const auto kept = bench.unit().held.front();
  const std::vector<std::byte> before(kept.bytes.begin(), kept.bytes.end());
  // All but the oldest go back, several times over.
  bench.unit().held.pop_front();
  bench.unit().release_held();
  bench.unit().holds = false;
  ASSERT_TRUE(bench.run_until([&] { return bench.unit().taken == 100; }, 5s));
  EXPECT_TRUE(std::ranges::equal(kept.bytes, before));
  EXPECT_TRUE(bench.unit().wrong.empty());
  bench.unit().pair->release(kept, bench.clock.now());
  for (int n = 0; n < 100; ++n) bench.host().queue(1500);
  EXPECT_TRUE(bench.deliver());
}

TEST(ChannelRdma, S001_15_one_update_returns_elements_of_several_pools) {
  ChannelBench bench({.unit = {.pools = {{16, 256}, {16, 1024}, {16, 4096}}}});
  ASSERT_TRUE(bench.connect());
  bench.unit().holds = true;
  for (int n = 0; n < 16; ++n) bench.host().queue(200);
  for (int n = 0; n < 16; ++n) bench.host().queue(1000);
  for (int n = 0; n < 16; ++n) bench.host().queue(4000);
  ASSERT_TRUE(bench.run_until([&] { return bench.unit().taken == 48; }, 5s));
  const std::uint64_t before = bench.unit().count("msg.tx.control");
  bench.unit().release_held();
  ASSERT_TRUE(bench.run_until([&] { return bench.host().pool_elements(false).second == 48; }, 1s));
  EXPECT_EQ(bench.unit().count("msg.tx.control") - before, 1U);
}

TEST(ChannelRdma, S001_15_update_of_an_unknown_pool_changes_nothing_and_is_counted) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  for (int n = 0; n < 10; ++n) bench.host().queue(1500);
  ASSERT_TRUE(bench.deliver());
  const auto before = bench.host().pool_elements(false);
  std::array<std::byte, 64> message;
  const std::array records = {ElementRange{PoolRef(200), 0, 1}};
  const std::size_t bytes = BufferRecvPoolUpdate::emit(kUnsolicited, records, message);
  bench.unit().pair->TEST_send(base::Bytes(message).first(bytes));
  bench.run_for(10ms);
  EXPECT_EQ(bench.host().count("msg.drop.pool"), 1U);
  EXPECT_EQ(bench.host().pool_elements(false), before);
  EXPECT_TRUE(bench.host().pair->up());
}

TEST(ChannelRdma, P_40_update_of_an_element_that_is_available_takes_the_pair_down) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  std::array<std::byte, 64> message;
  const std::array records = {ElementRange{PoolRef(0), 0, 1}};
  const std::size_t bytes = BufferRecvPoolUpdate::emit(kUnsolicited, records, message);
  bench.unit().pair->TEST_send(base::Bytes(message).first(bytes));
  ASSERT_TRUE(bench.run_until([&] { return !bench.host().downs.empty(); }, 1s));
  EXPECT_EQ(bench.host().downs[0], "the peer returned an element that it did not have");
  EXPECT_EQ(bench.host().count("msg.drop.state"), 1U);
}

TEST(ChannelRdma, S001_22_the_frame_lies_only_at_its_final_address) {
  ChannelBench bench({.unit = {.pools = {{16, 2048}}}});
  ASSERT_TRUE(bench.connect());
  const auto pools = bench.unit().pair->TEST_pool_memory();
  ASSERT_EQ(pools.size(), 1U);
  for (const base::MutableBytes pool : pools) std::ranges::fill(pool, std::byte{0xA5});
  bench.unit().holds = true;
  for (int n = 0; n < 3; ++n) bench.host().queue(100);
  ASSERT_TRUE(bench.run_until([&] { return bench.unit().held.size() == 3; }, 1s));
  for (const ReceivedFrame& frame : bench.unit().held) {
    EXPECT_EQ(frame.bytes.size(), 100U);  // what the completion and the idata say
    EXPECT_EQ(frame.bytes.data(), pools[0].data() + std::size_t{frame.element} * 2048);
  }
  const auto written =
      std::ranges::count_if(pools[0], [](std::byte b) { return b != std::byte{0xA5}; });
  EXPECT_LE(written, 300);
  EXPECT_TRUE(bench.unit().wrong.empty());
}

TEST(ChannelRdma, P_42_more_than_16_element_sizes_are_refused_whole) {
  std::vector<PoolSpec> pools;
  for (std::uint32_t i = 1; i <= 17; ++i) pools.push_back({4, 64 * i});
  ChannelBench bench({.unit = {.pools = pools}});
  bench.begin_connect();
  bench.run_for(200ms);
  EXPECT_EQ(bench.host().count("msg.drop.range"), 1U);
  EXPECT_FALSE(bench.host().pair->up());
  EXPECT_TRUE(bench.host().pool_refs(false).empty());
}

TEST(ChannelRdma, a_peer_that_disconnects_is_reported_once) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  bench.unit().pair->close(bench.clock.now());
  ASSERT_TRUE(bench.run_until([&] { return !bench.host().downs.empty(); }, 1s));
  bench.run_for(1s);
  EXPECT_EQ(bench.host().downs.size(), 1U);
  EXPECT_EQ(bench.unit().adapter->qp_count(), 0U);
  // A pair made anew works.
  ASSERT_TRUE(bench.connect());
  for (int n = 0; n < 10; ++n) bench.host().queue(1500);
}

}  // namespace
}  // namespace splitnic::messaging::channel_rdma_test
