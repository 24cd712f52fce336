// A sender goes back after NAKs, timeouts and late ACKs: behind local work, and far into a long
// packet. Once a work request has failed it does not.
#include <gtest/gtest.h>

#include "tests/protocol/long_packet.h"
#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::go_back_test {

using namespace std::chrono_literals;

using Batch = std::vector<std::vector<std::byte>>;

// Work requests of b, of one cell each, that never arrive. Replies to them are made by hand,
// several in one batch.
struct Sender {
  explicit Sender(bool selective_repeat = true)
      : qp(pair.connect(init(selective_repeat))),
        maker(pair, 0, qp.a, 1, qp.b),
        first(b().qp(qp.b).attr().send_lcn),
        psn(b().qp(qp.b).attr().send_psn) {
    pair.a().faults.drop_received([](base::Bytes) { return true; });
  }
  static QpInit init(bool selective_repeat) {
    QpInit out = reading();
    out.common.fixed_rto = 20ms;
    out.selective_repeat = selective_repeat;
    return out;
  }
  End& b() { return pair.b(); }
  std::uint64_t count(TransportCounter which) { return b().count(which); }
  QpState state() { return b().qp(qp.b).state(); }
  WcStatus status(std::size_t i) { return b().sent.at(i).status; }

  void write(std::uint64_t wr_id) {
    EXPECT_TRUE(b().post_write(qp.b, {local.sge()}, remote.start, remote.handle, wr_id));
  }
  void read(std::uint64_t wr_id) {
    EXPECT_TRUE(post_read(b(), qp.b, {local.sge()}, remote, 0, wr_id));
  }
  // It sends nothing and is done at once.
  void delay(std::uint64_t wr_id) {
    SendWr wr;
    wr.wr_id = wr_id;
    wr.op = WrOp::kDelay;
    EXPECT_TRUE(b().adapter->post_send(qp.b, wr));
  }
  // It acknowledges the first `cells`.
  std::vector<std::byte> reply(AckCode code, std::uint32_t cells, Psn of) const {
    AckExt ack;
    ack.code = code;
    ack.selective = true;
    ack.cumulative = first + cells - 1U;
    ack.receive_credits = 10;
    return maker.reply(code == AckCode::kAck ? Op::kAck : Op::kNak, ack, of);
  }
  // b has no receive for it, so the end of its batch sends a NAK.
  std::vector<std::byte> send_without_receive() { return maker.next(Op::kSend, Pos::kOnly, {}); }
  void deliver(const Batch& batch) {
    b().tap.inject_batch(pair.address(0), batch);
    pair.run_for(100us);
  }

  AdapterPair pair;
  QpPair qp;
  CellMaker maker;
  Lcn first;
  Psn psn;
  Memory& remote = pair.a().memory(100);
  Memory& local = pair.b().memory(100, 2);
};

// The first packet is refused and acknowledged in one batch: the sender goes back to it, and
// continues at the local work behind it, which is done.
TEST(GoBackTest, T_24_H_7_a_nak_of_local_work_is_of_nothing_that_was_sent) {
  for (const AckCode code : {AckCode::kRemoteAccess, AckCode::kSequence, AckCode::kRnr}) {
    Sender s;
    s.write(0);
    s.delay(1);
    s.write(2);
    s.pair.run_for(100us);
    ASSERT_EQ(s.count(TransportCounter::kTxCells), 2U);
    s.deliver({s.reply(AckCode::kSequence, 0, s.psn), s.reply(AckCode::kAck, 1, s.psn),
               s.reply(code, 1, Psn())});
    EXPECT_EQ(s.count(TransportCounter::kAckStale), 1U);
    EXPECT_EQ(s.count(TransportCounter::kTxRetransmit), 1U) << "the second packet";
    EXPECT_EQ(s.state(), QpState::kRts);
    s.deliver({s.reply(AckCode::kAck, 2, s.psn + 1U)});
    ASSERT_EQ(s.b().sent.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(s.b().sent[i].wr_id, i);
      EXPECT_EQ(s.status(i), WcStatus::kSuccess);
    }
  }
}

// The same, but the last NAK is of a read that waits for its response.
void expect_no_go_back_of_an_open_read(AckCode code) {
  Sender s;
  s.read(0);
  s.delay(1);
  s.write(2);
  s.pair.run_for(100us);
  ASSERT_EQ(s.count(TransportCounter::kTxCells), 2U);
  s.deliver({s.reply(AckCode::kSequence, 0, s.psn), s.reply(AckCode::kAck, 1, s.psn),
             s.reply(code, 1, s.psn)});
  EXPECT_EQ(s.count(TransportCounter::kAckStale), 1U);
  EXPECT_EQ(s.state(), QpState::kRts);
  EXPECT_TRUE(s.b().sent.empty());
  EXPECT_EQ(s.count(TransportCounter::kTxRetransmit), 1U) << "the write";
  CellHead response;
  response.header = s.maker.header(Op::kRdmaReadResp, Pos::kOnly);
  response.header.psn = s.psn;
  response.header.lcn = Lcn();
  const std::vector<std::byte> payload(100, std::byte{7});
  s.deliver({make_cell(response, payload), s.reply(AckCode::kAck, 2, s.psn + 1U)});
  ASSERT_EQ(s.b().sent.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(s.status(i), WcStatus::kSuccess);
  EXPECT_EQ(s.local.bytes, payload);
}

TEST(GoBackTest, P_RC_14_T_24_H_7_only_a_nak_that_ends_the_queue_pair_is_of_an_open_read) {
  for (const AckCode code : {AckCode::kSequence, AckCode::kRnr}) {
    expect_no_go_back_of_an_open_read(code);
  }
}

// The first of two work requests is refused while a NAK to the peer is due: the failure takes
// effect behind that, and what comes meanwhile changes nothing.
void expect_flush_behind_the_failed_one(AckCode second) {
  Sender s;
  s.write(0);
  s.write(1);
  s.pair.run_for(100us);
  s.deliver({s.send_without_receive(), s.reply(AckCode::kRemoteAccess, 0, s.psn),
             s.reply(second, 0, s.psn + 1U)});
  EXPECT_EQ(s.count(TransportCounter::kTxRnr), 1U);
  EXPECT_EQ(s.count(TransportCounter::kCellDropState), 1U);
  EXPECT_EQ(s.state(), QpState::kErr);
  ASSERT_EQ(s.b().sent.size(), 2U);
  EXPECT_EQ(s.status(0), WcStatus::kRemoteAccess);
  EXPECT_EQ(s.status(1), WcStatus::kFlushed);
}

TEST(GoBackTest, H_7_a_second_nak_fails_no_second_work_request) {
  expect_flush_behind_the_failed_one(AckCode::kRemoteAccess);
}

TEST(GoBackTest, H_7_a_failed_queue_pair_does_not_go_back) {
  expect_flush_behind_the_failed_one(AckCode::kSequence);
}

// The same while the link has no room for the NAK, for longer than a timeout.
void expect_no_timeout_of_a_failed_one(bool selective_repeat) {
  Sender s(selective_repeat);
  s.write(0);
  s.write(1);
  s.pair.run_for(100us);
  s.b().tap.blocks = true;
  s.write(2);  // its batch does not leave
  s.pair.run_for(100us);
  s.deliver({s.send_without_receive(), s.reply(AckCode::kRemoteAccess, 0, s.psn)});
  ASSERT_EQ(s.count(TransportCounter::kTxRnr), 0U);
  s.pair.run_for(50ms);
  EXPECT_EQ(s.count(TransportCounter::kTimeouts), 0U);
  EXPECT_EQ(s.state(), QpState::kRts);
  EXPECT_EQ(s.b().sent.size(), 1U);
  s.b().tap.blocks = false;
  s.pair.run_for(1ms);
  EXPECT_EQ(s.count(TransportCounter::kTxRnr), 1U);
  EXPECT_EQ(s.state(), QpState::kErr);
  ASSERT_EQ(s.b().sent.size(), 3U);
  EXPECT_EQ(s.status(0), WcStatus::kRemoteAccess);
  for (std::size_t i = 1; i < 3; ++i) EXPECT_EQ(s.status(i), WcStatus::kFlushed);
}

TEST(GoBackTest, H_7_a_failed_queue_pair_has_no_timeout) {
  expect_no_timeout_of_a_failed_one(true);
}

TEST(GoBackTest, H_7_a_failed_queue_pair_does_not_go_back_at_a_timeout) {
  expect_no_timeout_of_a_failed_one(false);
}

// With go-back-N, of more cells than half of the numbers that they have.
struct LongWrite : LongPacket {
  static constexpr std::uint64_t kCells = 40'000;

  LongWrite() : LongPacket(kCells, {.selective_repeat = false}) {}
  std::uint64_t count(TransportCounter which) { return pair.b().count(which); }
  void expect_sent() {
    post(0);
    expect_done(1);
    const std::uint64_t retransmitted = count(TransportCounter::kTxRetransmit);
    EXPECT_GT(retransmitted, 0U);
    EXPECT_EQ(count(TransportCounter::kTxCells), kCells + retransmitted);
  }
};

TEST(GoBackTest, S000_15_a_nak_in_the_second_half_of_a_long_packet) {
  LongWrite write;
  bool is_lost = false;
  write.pair.a().faults.drop_received([&](base::Bytes datagram) {
    const auto header = LongWrite::header_of(datagram);
    if (is_lost || !header) return false;
    is_lost = header->op == Op::kRdmaWrite && header->csn == 36'000;
    return is_lost;
  });
  write.expect_sent();
  EXPECT_TRUE(is_lost);
  EXPECT_EQ(write.pair.a().count(TransportCounter::kTxNaks), 1U);
  EXPECT_EQ(write.count(TransportCounter::kTimeouts), 0U);
}

// ACKs are lost until a timeout has returned cells that have arrived.
TEST(GoBackTest, S000_15_a_late_ack_in_the_second_half_of_a_long_packet) {
  LongWrite write;
  write.pair.b().faults.drop_received([&](base::Bytes) {
    return write.count(TransportCounter::kTxCells) > 36'000 &&
           write.count(TransportCounter::kTimeouts) == 0;
  });
  write.expect_sent();
  EXPECT_EQ(write.count(TransportCounter::kTimeouts), 1U);
  EXPECT_EQ(write.pair.a().count(TransportCounter::kTxNaks), 0U) << "sending continued elsewhere";
  EXPECT_LE(write.count(TransportCounter::kTxRetransmit), 1024U);
}

// A response is lost until more cells than half of the numbers that they have were acknowledged
// behind its request, which is then sent once more all the same.
TEST(GoBackTest, S000_04_a_read_that_waits_longer_than_half_of_the_numbers_of_cells) {
  LongWrite write;
  End& b = write.pair.b();
  const QpPair qp = write.pair.connect(reading());
  Memory& back = b.memory(64, 3);
  b.faults.drop_received([&](base::Bytes datagram) {
    if (b.count(TransportCounter::kTxCells) > write.kCells) return false;
    const auto header = LongWrite::header_of(datagram);
    return header && header->op == Op::kRdmaReadResp;
  });
  ASSERT_TRUE(post_read(b, qp.b, {back.sge()}, write.to, 0, 1));
  ASSERT_TRUE(b.post_write(qp.b, {write.from.sge()}, write.to.start, write.to.handle, 2));
  ASSERT_TRUE(write.pair.run_until([&] { return b.sent.size() == 2; }));
  EXPECT_EQ(b.sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(b.sent[0].wr_id, 1U);
  EXPECT_EQ(b.sent[1].status, WcStatus::kSuccess);
  EXPECT_EQ(write.to.bytes, write.from.bytes);
}

}  // namespace splitnic::fabric::testing::go_back_test
