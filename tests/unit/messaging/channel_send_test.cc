// The send mode: two unacknowledged channels, no pools, frames by SendData; loss is tolerated.
#include <gtest/gtest.h>

#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_send_test {
namespace {

using namespace std::chrono_literals;
using messaging::bench::ChannelBench;
using messaging::bench::ChannelSide;

// The unit is not told: it follows the host.
const PairConfig kSendHost{.mode = Mode::kSend};

TEST(ChannelSend, S001_26_two_connected_unacknowledged_channels_without_pools) {
  ChannelBench bench({.host = kSendHost});
  ASSERT_TRUE(bench.connect());
  EXPECT_EQ(bench.unit().pair->mode(), Mode::kSend);
  for (std::size_t i = 0; i < 2; ++i) {
    ChannelSide& side = bench.side(i);
    EXPECT_EQ(side.ups, 1);
    EXPECT_TRUE(side.pair->pools().empty());
    EXPECT_EQ(side.pair->frame_bytes_max(), 65520U);
    EXPECT_EQ(side.adapter->find_qp(side.pair->qpn(0))->service(), fabric::Service::kUc);
    EXPECT_EQ(side.adapter->find_qp(side.pair->qpn(1))->service(), fabric::Service::kUc);
  }
}

TEST(ChannelSend, S001_26_no_ack_is_seen_and_every_frame_is_one_send) {
  ChannelBench bench({.host = kSendHost});
  ASSERT_TRUE(bench.connect());
  bench.run_for(1ms);  // the last cell of CONNECT
  for (std::size_t i = 0; i < 2; ++i) {
    bench.side(i).tap.is_recording = true;
    for (std::size_t bytes = 12; bytes < 3000; bytes += 11) bench.side(i).queue(bytes);
    bench.side(i).queue(65520);
    bench.side(i).queue(65519);
  }
  int replies = 0;
  ASSERT_TRUE(bench.host().pair->request(CfgCode::kEcho, "x", bench.clock.now(),
                                         [&](const CfgReply& r) { replies += r.replied; }));
  ASSERT_TRUE(bench.deliver());
  bench.run_for(1s);
  EXPECT_EQ(replies, 1);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(bench.side(i).wrong.empty());
    EXPECT_EQ(bench.side(i).gaps, 0U);
    EXPECT_EQ(bench.side(i).count("msg.tx.send_data"), 274U);
    for (const auto& cell : bench.side(i).tap.cells) {
      EXPECT_EQ(cell.header().op, fabric::Op::kSend);
      EXPECT_EQ(cell.header().service, fabric::Service::kUc);
    }
  }
}

TEST(ChannelSend, S001_23_the_longest_frame_passes_and_one_byte_more_is_never_taken) {
  ChannelBench bench({.host = {.mode = Mode::kSend, .data_message_max = 4096}});
  ASSERT_TRUE(bench.connect());
  EXPECT_EQ(bench.unit().pair->frame_bytes_max(), 4080U);
  EXPECT_EQ(bench.host().pair->frame_bytes_max(), 4080U);
  bench.unit().queue(4080);
  ASSERT_TRUE(bench.deliver());
  EXPECT_EQ(bench.host().taken, 1U);
  bench.unit().queue(4081);
  bench.run_for(10ms);
  EXPECT_EQ(bench.unit().queued(), 1U);
  EXPECT_EQ(bench.unit().count("msg.tx.send_data"), 1U);
}

TEST(ChannelSend, S001_26_loss_loses_frames_but_nothing_hangs) {
  ChannelBench bench({.host = kSendHost});
  ASSERT_TRUE(bench.connect());
  for (std::size_t i = 0; i < 2; ++i) {
    bench.side(i).faults.set_config({.loss_ppm = 30000});
    for (int n = 0; n < 5000; ++n) bench.side(i).queue(1400 + static_cast<std::size_t>(n) % 3000);
  }
  ASSERT_TRUE(bench.run_until(
      [&] {
        return bench.unit().queued() == 0 && bench.host().queued() == 0 &&
               bench.unit().pair->pushes_in_flight() == 0 &&
               bench.host().pair->pushes_in_flight() == 0;
      },
      5s));
  bench.run_for(100ms);
  for (std::size_t i = 0; i < 2; ++i) {
    bench.side(i).faults.set_config({});
    EXPECT_GT(bench.side(i).taken, 4000U);
    EXPECT_LT(bench.side(i).taken, 5000U);
    EXPECT_TRUE(bench.side(i).wrong.empty());
    EXPECT_EQ(bench.side(i).completed, 5000U);
    EXPECT_TRUE(bench.side(i).pair->up());
  }
  const std::uint64_t before = bench.unit().taken;
  bench.host().queue(100);
  EXPECT_TRUE(bench.run_until([&] { return bench.unit().taken == before + 1; }, 1s));
}

TEST(ChannelSend, X_08_a_lost_request_or_reply_is_repeated_and_done_once) {
  ChannelBench bench({.host = kSendHost});
  ASSERT_TRUE(bench.connect());
  int replies = 0;
  const auto ask = [&] {
    return bench.host()
        .pair
        ->request(CfgCode::kEcho, "x", bench.clock.now(),
                  [&](const CfgReply& r) { replies += r.replied && r.data == "x"; })
        .has_value();
  };
  // The request is lost twice, then the reply once.
  bench.unit().faults.set_cut(true);
  ASSERT_TRUE(ask());
  bench.run_for(300ms);
  bench.unit().faults.set_cut(false);
  ASSERT_TRUE(bench.run_until([&] { return replies == 1; }, 2s));
  EXPECT_EQ(bench.unit().asked[CfgCode::kEcho], 1);
  bench.host().faults.set_cut(true);
  ASSERT_TRUE(ask());
  // The request passes: only what the host receives is cut.
  bench.run_for(300ms);
  bench.host().faults.set_cut(false);
  ASSERT_TRUE(bench.run_until([&] { return replies == 2; }, 2s));
  EXPECT_EQ(bench.unit().asked[CfgCode::kEcho], 2);
}

TEST(ChannelSend, S001_24_a_request_that_is_never_answered_ends_after_three_tries) {
  ChannelBench bench({.host = kSendHost});
  ASSERT_TRUE(bench.connect());
  bench.unit().polls = false;
  int unanswered = 0;
  ASSERT_TRUE(bench.host().pair->request(CfgCode::kEcho, "x", bench.clock.now(),
                                         [&](const CfgReply& r) { unanswered += !r.replied; }));
  bench.run_for(1400ms);
  EXPECT_EQ(unanswered, 0);
  bench.run_for(200ms);
  EXPECT_EQ(unanswered, 1);
  EXPECT_EQ(bench.host().count("msg.tx.control"), 3U);
}

TEST(ChannelSend, a_frame_stays_in_its_slot_until_released_and_without_slots_frames_are_lost) {
  ChannelBench bench({.host = kSendHost});
  ASSERT_TRUE(bench.connect());
  bench.unit().holds = true;
  for (int n = 0; n < 600; ++n) bench.host().queue(1400);
  ASSERT_TRUE(bench.run_until([&] { return bench.host().completed == 600; }, 5s));
  bench.run_for(10ms);
  EXPECT_EQ(bench.unit().held.size(), 512U);
  EXPECT_EQ(bench.unit().count("fabric.drop.no_receive"), 88U);
  // What is held did not change.
  EXPECT_TRUE(bench.unit().wrong.empty());
  bench.unit().release_held();
  bench.unit().holds = false;
  for (int n = 0; n < 2000; ++n) bench.host().queue(1400);
  ASSERT_TRUE(bench.run_until([&] { return bench.unit().taken == 2512; }, 5s));
  EXPECT_TRUE(bench.unit().wrong.empty());
  EXPECT_TRUE(bench.unit().pair->up());
}

TEST(ChannelSend, pool_messages_have_no_place_here) {
  ChannelBench bench({.host = kSendHost});
  ASSERT_TRUE(bench.connect());
  std::array<std::byte, 64> message;
  const std::array records = {ElementRange{PoolRef(0), 0, 1}};
  std::size_t bytes = BufferRecvPoolUpdate::emit(kUnsolicited, records, message);
  bench.host().pair->TEST_send(base::Bytes(message).first(bytes));
  const std::array pools = {
      PoolRecord{PoolRef(0), 4, 2048, fabric::MemoryHandle(1), fabric::VirtualAddress(4096), 0}};
  bytes = BufferRecvPool::emit(kUnsolicited, pools, message);
  bench.host().pair->TEST_send(base::Bytes(message).first(bytes));
  const std::array flushes = {FlushRecord{PoolRef(0)}};
  bytes = BufferPoolFlushRequest::emit(TransactionContext(3), flushes, message);
  bench.host().pair->TEST_send(base::Bytes(message).first(bytes));
  const std::array consumed = {ConsumedRecord{PoolRef(0), 0, 1, 60}};
  bytes = BufferRdmaIndicate::emit(kUnsolicited, consumed, message);
  bench.host().pair->TEST_send(base::Bytes(message).first(bytes));
  bench.run_for(10ms);
  EXPECT_EQ(bench.unit().count("msg.drop.role"), 4U);
  EXPECT_TRUE(bench.unit().pair->pools().empty());
  EXPECT_TRUE(bench.unit().pair->up());
}

}  // namespace
}  // namespace splitnic::messaging::channel_send_test
