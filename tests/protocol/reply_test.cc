// ACKs, NAKs and timeouts of RC: how many, when, and which of them a sender accepts.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"
#include "tests/support/stream.h"

namespace splitnic::fabric::testing::reply_test {

using namespace std::chrono_literals;

// Posts RDMA writes from b to a and runs until they are done.
void write_many(AdapterPair& pair, QpPair qp, unsigned packets, std::size_t bytes) {
  Memory& to = pair.a().memory(bytes);
  Memory& from = pair.b().memory(bytes, 2);
  for (unsigned i = 0; i < packets; ++i) {
    ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, i));
  }
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == packets; }));
  for (const Wc& wc : pair.b().sent) EXPECT_EQ(wc.status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, from.bytes);
}

TEST(ReplyTest, S000_16_no_more_than_four_are_outstanding) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.max_outstanding = 4});
  pair.b().tap.is_recording = true;
  write_many(pair, qp, 100, 100);
  Lcn sent = pair.b().qp(qp.b).attr().send_lcn - 1U;
  Lcn acked = sent;
  int most = 0;
  for (const TappedCell& cell : pair.b().tap.cells) {
    AckExt ack;
    if (cell.sent && cell.header().op == Op::kRdmaWrite) sent = cell.header().lcn;
    if (!cell.sent && parse_ack(cell.view(), ack)) acked = ack.cumulative;
    most = std::max(most, sent - acked);
  }
  EXPECT_EQ(most, 4);
}

TEST(ReplyTest, S000_17_every_cell_is_acknowledged_separately) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.ack_interval = 1});
  write_many(pair, qp, 10, 1364 * 7);
  EXPECT_EQ(pair.a().count(TransportCounter::kTxAcks), 70U);
  EXPECT_EQ(pair.b().count(TransportCounter::kTxCells), 70U);
}

// The receiving process is stopped and takes no completion: its adapter acknowledges all the same.
TEST(ReplyTest, S000_17_X_14_an_ack_does_not_wait_for_the_consumer) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.ack_interval = 1});
  pair.a().drains = false;
  Memory& to = pair.a().memory(1364 * 7);
  Memory& from = pair.b().memory(1364 * 7, 2);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge()}, i));
    ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge()}, i));
  }
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 10; }));
  for (const Wc& wc : pair.b().sent) EXPECT_EQ(wc.status, WcStatus::kSuccess);
  EXPECT_GE(pair.a().count(TransportCounter::kTxAcks), 70U);
  EXPECT_TRUE(pair.a().received.empty());
  pair.a().drain();
  EXPECT_EQ(pair.a().received.size(), 10U);
}

// The requester alone has K = 1: its flag A makes a responder with a large K acknowledge each cell.
TEST(ReplyTest, X_13_a_requester_with_an_interval_of_one_requests_each_ack) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.ack_interval = 64});
  QpAttr attr = pair.b().qp(qp.b).attr();
  attr.ack_interval = 1;
  ASSERT_TRUE(pair.b().adapter->modify_qp(qp.b, QpState::kRts, kAttrAckInterval, attr));
  ASSERT_EQ(pair.a().qp(qp.a).attr().ack_interval, 64);
  pair.b().tap.is_recording = true;
  write_many(pair, qp, 10, 1364 * 7);
  std::size_t cells = 0;
  const Lcn first = pair.b().qp(qp.b).attr().send_lcn;
  Lcn acked = first - 1U;
  for (const TappedCell& cell : pair.b().tap.cells) {
    AckExt ack;
    if (cell.sent && cell.header().op == Op::kRdmaWrite) {
      ++cells;
      EXPECT_NE(cell.header().flags & kFlagAckRequest, 0) << cells;
    } else if (!cell.sent && parse_ack(cell.view(), ack)) {
      acked = ack.cumulative;
    }
  }
  EXPECT_EQ(cells, 70U);
  EXPECT_EQ(acked - first, 69);
  EXPECT_EQ(pair.b().count(TransportCounter::kTxPredicted), 0U);
}

TEST(ReplyTest, S004_04_one_ack_covers_several_packets) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.ack_interval = 8});
  const base::Time start = pair.now();
  write_many(pair, qp, 200, 100);
  const auto timers = static_cast<std::uint64_t>((pair.now() - start) / 50us) + 1;
  EXPECT_LE(pair.a().count(TransportCounter::kTxAcks), 200 / 8 + timers);
}

TEST(ReplyTest, S004_04_the_ack_timer_ends_a_wait_for_more) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  CellMaker maker(pair, 1, qp.b, 0, qp.a);
  Memory& to = pair.a().memory(10);
  const std::vector<std::byte> payload(10, std::byte{1});
  maker.send(Op::kRdmaWrite, Pos::kOnly, payload,
             {.va_mh = VaMh{to.start, to.handle, 10}});  // flag A is clear
  pair.run_for(45us);
  EXPECT_EQ(pair.a().count(TransportCounter::kTxAcks), 0U);
  pair.run_for(20us);
  EXPECT_EQ(pair.a().count(TransportCounter::kTxAcks), 1U);
  pair.run_for(1s);
  EXPECT_EQ(pair.a().count(TransportCounter::kTxAcks), 1U);
  EXPECT_LE(pair.idle_steps_with_past_deadline, 3);
}

TEST(ReplyTest, S000_18_go_back_n_repeats_at_a_nak) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.common = {.fixed_rto = 10s}, .selective_repeat = false});
  unsigned seen = 0;
  pair.a().faults.drop_received([&](base::Bytes) { return seen++ == 20; });
  const base::Time start = pair.now();
  write_many(pair, qp, 1, 1364 * 60);
  EXPECT_LT(pair.now() - start, 1s) << "by the NAK, not by the time-out";
  EXPECT_EQ(pair.a().count(TransportCounter::kTxNaks), 1U) << "once a gap";
  EXPECT_EQ(pair.b().count(TransportCounter::kTxRetransmit), 40U);
}

TEST(ReplyTest, S000_18_selective_repeat_fills_the_gap) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.common = {.fixed_rto = 10s}});
  unsigned seen = 0;
  pair.a().faults.drop_received([&](base::Bytes) { return seen++ == 20; });
  const base::Time start = pair.now();
  write_many(pair, qp, 1, 1364 * 60);
  EXPECT_LT(pair.now() - start, 1s);
  EXPECT_EQ(pair.a().count(TransportCounter::kTxNaks), 0U);
  EXPECT_EQ(pair.b().count(TransportCounter::kTxRetransmit), 1U);
}

// The ACK of everything is lost, twice, and the window has shrunk by then.
TEST(ReplyTest, S000_18_lost_acks_of_a_whole_window) {
  for (const bool selective : {true, false}) {
    AdapterPair pair;
    const QpPair qp = pair.connect({.selective_repeat = selective});
    pair.b().faults.drop_received(
        [&](base::Bytes) { return pair.b().count(TransportCounter::kTimeouts) < 4; });
    write_many(pair, qp, 1, 200'000);  // within the first window
    EXPECT_LE(pair.b().count(TransportCounter::kTimeouts), 5U) << selective;
  }
}

struct Rnr {
  std::vector<Wc> sent, received;
  std::uint64_t naks = 0;
  base::Duration took{};
};
// Three Sends of three cells; a receive is posted after `late` (0: never).
Rnr send_without_receive(std::uint8_t rnr_retry, base::Duration late, bool selective = true) {
  AdapterPair pair;
  const QpPair qp = pair.connect(
      {.common = {.fixed_rto = 1s}, .selective_repeat = selective, .rnr_retry = rnr_retry});
  Memory& to = pair.a().memory(4000);
  Memory& from = pair.b().memory(4000, 2);
  const base::Time start = pair.now();
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(pair.b().post_send(qp.b, {from.sge()}, i));
  }
  if (late > 0s) {
    pair.run_for(late);
    for (std::uint64_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(pair.a().post_recv(qp.a, {to.sge()}, i));
    }
  }
  EXPECT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 3; }));
  pair.run_for(5ms);
  if (late > 0s) {
    EXPECT_EQ(to.bytes, from.bytes);
  }
  EXPECT_LE(pair.idle_steps_with_past_deadline, 3);
  return {pair.b().sent, pair.a().received, pair.a().count(TransportCounter::kTxRnr),
          pair.now() - start - 5ms};
}

TEST(ReplyTest, T_17_no_receive_and_no_retry) {
  const Rnr rnr = send_without_receive(0, 0s);
  EXPECT_EQ(rnr.naks, 1U);
  EXPECT_EQ(rnr.sent[0].status, WcStatus::kRnrRetryExceeded);
  EXPECT_EQ(rnr.sent[1].status, WcStatus::kFlushed);
}

TEST(ReplyTest, T_17_three_retries_after_a_wait_each) {
  const Rnr rnr = send_without_receive(3, 0s);
  EXPECT_EQ(rnr.naks, 4U);
  EXPECT_EQ(rnr.sent[0].status, WcStatus::kRnrRetryExceeded);
  EXPECT_GE(rnr.took, 3 * 100us);
  EXPECT_LE(rnr.took, 2ms);
}

TEST(ReplyTest, T_17_seven_waits_indefinitely_and_delivers_once) {
  for (const bool selective : {true, false}) {
    const Rnr rnr = send_without_receive(7, 4s, selective);
    EXPECT_GT(rnr.naks, 7U);
    ASSERT_EQ(rnr.received.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(rnr.sent[i].status, WcStatus::kSuccess);
      EXPECT_EQ(rnr.received[i].wr_id, i);
    }
    EXPECT_LE(rnr.took, 4s + 5ms);
  }
}

class DeadPeer : public ::testing::TestWithParam<std::uint8_t> {};

TEST_P(DeadPeer, T_25_exactly_as_many_resends_as_allowed) {
  AdapterPair pair;
  const std::uint8_t n = GetParam();
  const QpPair qp = pair.connect(
      {.common = {.retry_count = n, .fixed_rto = 20ms, .stall_min = 0s}, .max_outstanding = 1});
  Memory& from = pair.b().memory(100, 2);
  pair.a().faults.set_cut(true);
  const base::Time start = pair.now();
  ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge()}, 1));
  ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge()}, 2));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 2; }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kRetryExceeded);
  EXPECT_EQ(pair.b().sent[1].status, WcStatus::kFlushed);
  EXPECT_EQ(pair.b().qp(qp.b).state(), QpState::kErr);
  EXPECT_EQ(pair.b().count(TransportCounter::kTxCells), n + 1U);
  EXPECT_EQ(pair.b().count(TransportCounter::kTxRetransmit), n);
  EXPECT_LE(pair.now() - start, (n + 1) * 20ms * 4);
}

INSTANTIATE_TEST_SUITE_P(RetryLimit, DeadPeer, ::testing::Values(0, 1, 2, 3, 4, 5, 6, 7));

TEST(ReplyTest, S000_15_a_black_hole_ends_in_an_error_and_a_flush) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& from = pair.b().memory(100'000, 2);
  Memory& to = pair.a().memory(100'000);
  pair.a().faults.set_cut(true);
  const base::Time start = pair.now();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
  }
  ASSERT_TRUE(pair.b().post_recv(qp.b));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 5; }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kRetryExceeded);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(pair.b().sent[i].status, WcStatus::kFlushed);
  EXPECT_EQ(pair.b().received.size(), 1U);
  EXPECT_GE(pair.now() - start, 5s);
  EXPECT_LE(pair.now() - start, 6s);
  EXPECT_LE(pair.idle_steps_with_past_deadline, 10);
}

TEST(ReplyTest, T_22_S004_05_numbers_wrap_without_a_stall) {
  for (const bool selective : {true, false}) {
    AdapterPair pair;
    QpAttr attr;
    attr.send_psn = attr.receive_psn = Psn(0xFFFFFF - 150);
    attr.send_lcn = attr.receive_lcn = Lcn(0xFFFF - 300);
    const QpPair qp =
        pair.connect_by_hand({.max_outstanding = 64, .selective_repeat = selective}, attr);
    pair.a().faults.set_config({.loss_ppm = 20'000, .reorder_ppm = 20'000});
    Stream stream(pair.b(), qp.b, pair.a(), qp.a, {.packets = 1000});
    EXPECT_TRUE(pair.run_until([&] { return stream.step(); }));
    EXPECT_EQ(stream.failure, "");
    EXPECT_EQ(pair.a().qp(qp.a).state(), QpState::kRts);
  }
}

TEST(ReplyTest, T_22_S004_05_unacknowledged_numbers_wrap_too) {
  AdapterPair pair;
  QpAttr attr;
  attr.send_psn = attr.receive_psn = Psn(0xFFFFFF - 50);
  const QpPair qp = pair.connect_by_hand({.service = Service::kUc}, attr);
  Stream stream(pair.b(), qp.b, pair.a(), qp.a, {.packets = 200, .bytes_max = 3000});
  EXPECT_TRUE(pair.run_until([&] { return stream.step(); }));
  EXPECT_EQ(stream.failure, "");
}

// b has one packet of ten cells outstanding, whose cells never arrive; replies are made by hand.
struct Outstanding {
  Outstanding() : qp(pair.connect({.common = {.fixed_rto = 100s}})), maker(pair, 0, qp.a, 1, qp.b) {
    Memory& to = pair.a().memory(13640);
    Memory& from = pair.b().memory(13640, 2);
    first = pair.b().qp(qp.b).attr().send_lcn;
    psn = pair.b().qp(qp.b).attr().send_psn;
    pair.a().faults.drop_received([](base::Bytes) { return true; });
    EXPECT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
    pair.run_for(100us);
    EXPECT_EQ(pair.b().count(TransportCounter::kTxCells), 10U);
  }
  void reply(AckCode code, Lcn cumulative, Psn of) {
    AckExt ack;
    ack.code = code;
    ack.selective = true;
    ack.cumulative = cumulative;
    ack.receive_credits = 10;
    maker.inject(maker.reply(code == AckCode::kAck ? Op::kAck : Op::kNak, ack, of));
    pair.run_for(10us);
  }
  void expect_ignored() {
    EXPECT_TRUE(pair.b().sent.empty());
    EXPECT_EQ(pair.b().qp(qp.b).state(), QpState::kRts);
    EXPECT_EQ(pair.b().count(TransportCounter::kTxRetransmit), 0U);
  }
  AdapterPair pair;
  QpPair qp;
  CellMaker maker;
  Lcn first;
  Psn psn;
};

TEST(ReplyTest, T_24_an_ack_of_what_was_never_sent) {
  Outstanding b;
  b.reply(AckCode::kAck, b.first + 10, b.psn);
  b.expect_ignored();
  b.reply(AckCode::kAck, b.first + 0x7000, b.psn);
  b.expect_ignored();
  EXPECT_EQ(b.pair.b().count(TransportCounter::kAckStale), 2U);
  b.reply(AckCode::kAck, b.first + 9, b.psn);
  ASSERT_EQ(b.pair.b().sent.size(), 1U);
  EXPECT_EQ(b.pair.b().sent[0].status, WcStatus::kSuccess);
}

TEST(ReplyTest, T_24_an_ack_from_far_behind) {
  Outstanding b;
  b.reply(AckCode::kAck, b.first + 4, b.psn);
  b.reply(AckCode::kAck, b.first + 2, b.psn);
  b.reply(AckCode::kAck, b.first - 0x4000U, b.psn);
  b.expect_ignored();
  EXPECT_EQ(b.pair.b().count(TransportCounter::kAckStale), 2U);
}

TEST(ReplyTest, T_24_a_nak_of_a_packet_that_is_complete) {
  Outstanding b;
  for (const AckCode code : {AckCode::kInvalidRequest, AckCode::kRemoteAccess, AckCode::kRnr,
                             AckCode::kRemoteOperational, AckCode::kSequence}) {
    b.reply(code, b.first - 1U, b.psn - 1U);
    b.expect_ignored();
  }
  b.reply(AckCode::kRemoteAccess, b.first - 5U, b.psn);
  b.expect_ignored();
  b.reply(AckCode::kRemoteAccess, b.first - 1U, b.psn);
  ASSERT_EQ(b.pair.b().sent.size(), 1U);
  EXPECT_EQ(b.pair.b().sent[0].status, WcStatus::kRemoteAccess);
}

// A bitmap that names cells beyond those in flight, and one that retracts an earlier one.
TEST(ReplyTest, T_24_a_peer_that_gives_cells_back_gets_them_again) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.common = {.fixed_rto = 20ms}});
  Memory& to = pair.a().memory(13640);
  Memory& from = pair.b().memory(13640, 2);
  bool drop = true;
  pair.a().faults.drop_received([&](base::Bytes) { return drop; });
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
  pair.run_for(100us);
  CellMaker maker(pair, 0, qp.a, 1, qp.b);
  AckExt ack;
  ack.selective = true;
  ack.cumulative = pair.b().qp(qp.b).attr().send_lcn - 1U;
  for (unsigned i = 0; i < 64; ++i) ack.set_bit(i);  // "all but the first", which is a lie
  maker.inject(maker.reply(Op::kAck, ack, maker.psn));
  pair.run_for(100us);
  drop = false;
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }, 3s));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, from.bytes);
}

TEST(ReplyTest, S000_15_bulk_fills_the_window_on_a_clean_path) {
  AdapterPair pair;
  for (End* end : {&pair.a(), &pair.b()}) end->faults.set_config({.delay = 500us});
  const QpPair qp = pair.connect({.window_bytes_max = 1 << 20});
  Memory& to = pair.a().memory(1 << 20);
  Memory& from = pair.b().memory(1 << 20, 2);
  std::uint64_t most = 0;
  for (int i = 0; i < 32; ++i) {
    ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
  }
  const base::Time start = pair.now();
  ASSERT_TRUE(pair.run_until([&] {
    most = std::max(most, pair.b().qp(qp.b).requester().bytes_in_flight());
    return pair.b().sent.size() == 32;
  }));
  EXPECT_GT(most, (1U << 20) * 95 / 100);
  EXPECT_EQ(pair.b().qp(qp.b).requester().congestion().window(), 1U << 20);
  EXPECT_EQ(pair.b().count(TransportCounter::kTxRetransmit), 0U);
  // 32 windows at 1 ms each, and the start.
  EXPECT_LT(pair.now() - start, 45ms);
}

}  // namespace splitnic::fabric::testing::reply_test
