// The send mode: two unacknowledged channels, no pools, frames by SendData; loss is tolerated.
#include <gtest/gtest.h>

#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_send_test {
namespace {

using namespace std::chrono_literals;
using messaging::harness::ChannelFixture;
using messaging::harness::ChannelSide;

// The unit has no configured mode: it follows the host.
const PairConfig kSendHost{.mode = Mode::kSend};

TEST(ChannelSend, S001_26_two_connected_unacknowledged_channels_without_pools) {
  ChannelFixture harness({.host = kSendHost});
  ASSERT_TRUE(harness.connect());
  EXPECT_EQ(harness.unit().pair->mode(), Mode::kSend);
  for (std::size_t i = 0; i < 2; ++i) {
    ChannelSide& side = harness.side(i);
    EXPECT_EQ(side.ups, 1);
    EXPECT_TRUE(side.pair->pools().empty());
    EXPECT_EQ(side.pair->frame_bytes_max(), 65520U);
    EXPECT_EQ(side.adapter->find_qp(side.pair->qpn(0))->service(), fabric::Service::kUc);
    EXPECT_EQ(side.adapter->find_qp(side.pair->qpn(1))->service(), fabric::Service::kUc);
  }
}

TEST(ChannelSend, S001_26_no_ack_is_seen_and_every_frame_is_one_send) {
  ChannelFixture harness({.host = kSendHost});
  ASSERT_TRUE(harness.connect());
  harness.run_for(1ms);  // the last cell of CONNECT
  for (std::size_t i = 0; i < 2; ++i) {
    harness.side(i).tap.is_recording = true;
    for (std::size_t bytes = 12; bytes < 3000; bytes += 11) harness.side(i).queue(bytes);
    harness.side(i).queue(65520);
    harness.side(i).queue(65519);
  }
  ASSERT_TRUE(harness.request_echo());
  ASSERT_TRUE(harness.deliver());
  harness.run_for(1s);
  EXPECT_EQ(harness.echo_replies, 1);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(harness.side(i).wrong.empty());
    EXPECT_EQ(harness.side(i).gaps, 0U);
    EXPECT_EQ(harness.side(i).count("msg.tx.send_data"), 274U);
    for (const auto& cell : harness.side(i).tap.cells) {
      EXPECT_EQ(cell.header().op, fabric::Op::kSend);
      EXPECT_EQ(cell.header().service, fabric::Service::kUc);
    }
  }
}

TEST(ChannelSend, S001_23_the_longest_frame_passes_and_one_byte_more_is_never_taken) {
  ChannelFixture harness({.host = {.mode = Mode::kSend, .data_message_max = 4096}});
  ASSERT_TRUE(harness.connect());
  EXPECT_EQ(harness.unit().pair->frame_bytes_max(), 4080U);
  EXPECT_EQ(harness.host().pair->frame_bytes_max(), 4080U);
  harness.unit().queue(4080);
  ASSERT_TRUE(harness.deliver());
  EXPECT_EQ(harness.host().taken, 1U);
  harness.unit().queue(4081);
  harness.run_for(10ms);
  EXPECT_EQ(harness.unit().queued(), 1U);
  EXPECT_EQ(harness.unit().count("msg.tx.send_data"), 1U);
}

TEST(ChannelSend, S001_26_loss_loses_frames_but_nothing_hangs) {
  ChannelFixture harness({.host = kSendHost});
  ASSERT_TRUE(harness.connect());
  for (std::size_t i = 0; i < 2; ++i) {
    harness.side(i).faults.set_config({.loss_ppm = 30000});
    for (int n = 0; n < 5000; ++n) harness.side(i).queue(1400 + static_cast<std::size_t>(n) % 3000);
  }
  ASSERT_TRUE(harness.run_until(
      [&] {
        return harness.unit().queued() == 0 && harness.host().queued() == 0 &&
               harness.unit().pair->pushes_in_flight() == 0 &&
               harness.host().pair->pushes_in_flight() == 0;
      },
      5s));
  harness.run_for(100ms);
  for (std::size_t i = 0; i < 2; ++i) {
    harness.side(i).faults.set_config({});
    EXPECT_GT(harness.side(i).taken, 4000U);
    EXPECT_LT(harness.side(i).taken, 5000U);
    EXPECT_TRUE(harness.side(i).wrong.empty());
    EXPECT_EQ(harness.side(i).completed, 5000U);
    EXPECT_TRUE(harness.side(i).pair->up());
  }
  const std::uint64_t before = harness.unit().taken;
  harness.host().queue(100);
  EXPECT_TRUE(harness.run_until([&] { return harness.unit().taken == before + 1; }, 1s));
}

TEST(ChannelSend, X_08_a_lost_request_or_reply_is_repeated_and_done_once) {
  ChannelFixture harness({.host = kSendHost});
  ASSERT_TRUE(harness.connect());
  int replies = 0;
  const auto ask = [&] {
    return harness.host()
        .pair
        ->request(CfgCode::kEcho, "x",
                  [&](const CfgReply& r) { replies += r.replied && r.data == "x"; })
        .has_value();
  };
  // The request is lost twice, then the reply once.
  harness.unit().faults.set_cut(true);
  ASSERT_TRUE(ask());
  harness.run_for(300ms);
  harness.unit().faults.set_cut(false);
  ASSERT_TRUE(harness.run_until([&] { return replies == 1; }, 2s));
  EXPECT_EQ(harness.unit().asked[CfgCode::kEcho], 1);
  harness.host().faults.set_cut(true);
  ASSERT_TRUE(ask());
  // The request passes: only what the host receives is cut.
  harness.run_for(300ms);
  harness.host().faults.set_cut(false);
  ASSERT_TRUE(harness.run_until([&] { return replies == 2; }, 2s));
  EXPECT_EQ(harness.unit().asked[CfgCode::kEcho], 2);
}

TEST(ChannelSend, S001_24_a_request_without_a_reply_ends_after_three_tries) {
  ChannelFixture harness({.host = kSendHost});
  ASSERT_TRUE(harness.connect());
  harness.unit().polls = false;
  int without_reply = 0;
  ASSERT_TRUE(harness.host().pair->request(
      CfgCode::kEcho, "x", [&](const CfgReply& r) { without_reply += !r.replied; }));
  harness.run_for(1400ms);
  EXPECT_EQ(without_reply, 0);
  harness.run_for(200ms);
  EXPECT_EQ(without_reply, 1);
  EXPECT_EQ(harness.host().count("msg.tx.control"), 3U);
}

TEST(ChannelSend, a_frame_stays_in_its_slot_until_released_and_without_slots_frames_are_lost) {
  ChannelFixture harness({.host = kSendHost});
  ASSERT_TRUE(harness.connect());
  harness.unit().holds = true;
  for (int n = 0; n < 600; ++n) harness.host().queue(1400);
  ASSERT_TRUE(harness.run_until([&] { return harness.host().completed == 600; }, 5s));
  harness.run_for(10ms);
  EXPECT_EQ(harness.unit().held.size(), 512U);
  EXPECT_EQ(harness.unit().count("fabric.drop.no_receive"), 88U);
  // Held frames did not change.
  EXPECT_TRUE(harness.unit().wrong.empty());
  harness.unit().release_held();
  harness.unit().holds = false;
  for (int n = 0; n < 2000; ++n) harness.host().queue(1400);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().taken == 2512; }, 5s));
  EXPECT_TRUE(harness.unit().wrong.empty());
  EXPECT_TRUE(harness.unit().pair->up());
}

TEST(ChannelSend, pool_messages_have_no_place_here) {
  ChannelFixture harness({.host = kSendHost});
  ASSERT_TRUE(harness.connect());
  std::array<std::byte, 64> message;
  const std::array records = {ElementRange{PoolRef(0), 0, 1}};
  std::size_t bytes = BufferRecvPoolUpdate::emit(kUnsolicited, records, message);
  harness.host().pair->TEST_send(base::Bytes(message).first(bytes));
  const std::array pools = {
      PoolRecord{PoolRef(0), 4, 2048, fabric::MemoryHandle(1), fabric::VirtualAddress(4096), 0}};
  bytes = BufferRecvPool::emit(kUnsolicited, pools, message);
  harness.host().pair->TEST_send(base::Bytes(message).first(bytes));
  const std::array flushes = {FlushRecord{PoolRef(0)}};
  bytes = BufferPoolFlushRequest::emit(TransactionContext(3), flushes, message);
  harness.host().pair->TEST_send(base::Bytes(message).first(bytes));
  const std::array consumed = {ConsumedRecord{PoolRef(0), 0, 1, 60}};
  bytes = BufferRdmaIndicate::emit(kUnsolicited, consumed, message);
  harness.host().pair->TEST_send(base::Bytes(message).first(bytes));
  harness.run_for(10ms);
  EXPECT_EQ(harness.unit().count("msg.drop.role"), 4U);
  EXPECT_TRUE(harness.unit().pair->pools().empty());
  EXPECT_TRUE(harness.unit().pair->up());
}

}  // namespace
}  // namespace splitnic::messaging::channel_send_test
