// Messages of several cells on RD against cells that are made by hand: order, progress, gaps and
// refusals at the receiver, and at the sender what it sends and repeats.
#include "tests/services/rd_wire_fixture.h"

namespace splitnic::fabric::testing::rd_cells_wire_test {

using namespace std::chrono_literals;

constexpr std::uint32_t kMcp = 64;  // of the context; that of the queue pairs is another one
constexpr std::uint32_t kCells = 4;
constexpr std::uint32_t kLastBytes = 10;
constexpr std::uint32_t kMessageCells = 40;

EeInit long_messages(std::uint32_t message_max) {
  EeInit init;
  init.mcp = std::uint16_t{kMcp};
  init.message_max = message_max;
  init.fixed_rto = 10s;
  return init;
}

class RdCellsWireTest : public RdWireFixture {
 protected:
  explicit RdCellsWireTest(std::uint32_t message_max = kMessageCells * kMcp)
      : RdWireFixture(long_messages(message_max)) {
    CHECK(pair_.a().post_recv(target_, {room_.sge()}, 7).has_value());
  }
  // Cell `csn` of a Send of kCells cells to end a.
  void send(std::uint32_t csn, std::uint8_t flags = 0, std::uint32_t psn = 0x100) {
    inject(cell(csn, flags, psn), payload(csn, static_cast<std::byte>(csn + 1)));
  }
  CellHead cell(std::uint32_t csn, std::uint8_t flags = 0, std::uint32_t psn = 0x100) {
    CellHead out = head(Op::kSend, psn);
    out.header.csn = static_cast<std::uint16_t>(csn);
    out.header.pos = position_of(csn, kCells);
    out.header.flags = flags;
    return out;
  }
  static std::vector<std::byte> payload(std::uint32_t csn, std::byte fill) {
    return std::vector<std::byte>(csn + 1 == kCells ? kLastBytes : kMcp, fill);
  }
  void reply(AckCode code, Psn psn, std::uint32_t csn, Qpn to) {
    AckExt ack;
    ack.code = code;
    CellHead out = head(code == AckCode::kAck ? Op::kAck : Op::kNak, psn.value);
    out.header.dqpn = to;
    out.header.csn = static_cast<std::uint16_t>(csn);
    out.ack = &ack;
    inject(out, base::Bytes{});
  }
  std::size_t posted() { return pair_.a().qp(target_).responder().posted(); }
  // The message of send() is whole in the receive.
  void expect_received() {
    ASSERT_EQ(pair_.a().received.size(), 1U);
    const Wc& wc = pair_.a().received[0];
    EXPECT_EQ(wc.status, WcStatus::kSuccess);
    EXPECT_EQ(wc.wr_id, 7U);
    EXPECT_EQ(wc.bytes, (kCells - 1) * kMcp + kLastBytes);
    for (std::size_t i = 0; i < wc.bytes; ++i) {
      ASSERT_EQ(room_.bytes[i], static_cast<std::byte>(i / kMcp + 1)) << i;
    }
  }
  // The only reply since the last call.
  void expect_reply(Op op, AckCode code, std::uint32_t csn) {
    std::vector<AckExt> acks;
    const auto sent = replies(&acks);
    ASSERT_EQ(sent.size(), 1U);
    ASSERT_EQ(acks.size(), 1U);
    EXPECT_EQ(sent[0].op, op);
    EXPECT_EQ(acks[0].code, code);
    EXPECT_EQ(sent[0].psn, Psn(0x100));
    EXPECT_EQ(sent[0].csn, csn);
  }

  Memory& room_ = pair_.a().memory(kMessageCells * kMcp);
};

TEST_F(RdCellsWireTest, S000_12_X_10_P_RD_19_flag_a_gets_the_progress_of_a_message) {
  send(0);
  EXPECT_TRUE(replies().empty()) << "no ACK was requested";
  EXPECT_EQ(posted(), 0U) << "the message has its receive";
  send(1, kFlagAckRequest);
  const auto sent = replies();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].op, Op::kAck);
  EXPECT_EQ(sent[0].psn, Psn(0x100));
  EXPECT_EQ(sent[0].csn, 1U);
  EXPECT_EQ(sent[0].dqpn, Qpn(0x77));
  EXPECT_EQ(sent[0].sqpn, target_);
  send(2);
  EXPECT_TRUE(pair_.a().received.empty());
  send(3);
  expect_reply(Op::kAck, AckCode::kAck, 3);
  expect_received();
}

TEST_F(RdCellsWireTest, S000_12_P_RD_18_cells_are_taken_in_order_and_each_once) {
  send(0);
  send(2);
  expect_reply(Op::kNak, AckCode::kSequence, 1);
  send(3);
  EXPECT_TRUE(replies().empty()) << "one NAK per gap";
  EXPECT_EQ(count(TransportCounter::kRxOutOfOrder), 2U);
  inject(cell(0), payload(0, std::byte{9}));
  EXPECT_TRUE(replies().empty());
  inject(cell(0, kFlagAckRequest), payload(0, std::byte{9}));
  expect_reply(Op::kAck, AckCode::kAck, 0);
  EXPECT_EQ(count(TransportCounter::kRxDuplicate), 2U);
  for (std::uint32_t csn = 1; csn < kCells; ++csn) send(csn);
  expect_received();
}

TEST_F(RdCellsWireTest, S000_12_P_RD_18_nothing_is_taken_before_the_last_cell) {
  send(0);
  inject(write(0x101));
  EXPECT_TRUE(to_.is_zero());
  expect_reply(Op::kNak, AckCode::kSequence, 1);
  for (std::uint32_t csn = 1; csn < kCells; ++csn) send(csn);
  inject(write(0x101));
  EXPECT_TRUE(has_written(std::byte{1}));
  expect_received();
}

TEST_F(RdCellsWireTest, S000_12_P_RD_17_a_cell_of_another_queue_pair_ends_the_message) {
  send(0);
  CellHead other = cell(1);
  other.header.sqpn = Qpn(0x78);
  inject(other, payload(1, std::byte{2}));
  expect_reply(Op::kNak, AckCode::kInvalidRequest, 1);
  EXPECT_EQ(posted(), 1U) << "the receive is there for the next message";
  send(2);  // late, of the message that has its result
  expect_reply(Op::kNak, AckCode::kInvalidRequest, 1);
  for (std::uint32_t csn = 0; csn < kCells; ++csn) send(csn, 0, 0x101);
  expect_received();
}

// The sender has ended, and its context fills the place of the message.
TEST_F(RdCellsWireTest, S000_12_P_RD_12_an_empty_send_ends_a_message_that_has_begun) {
  send(0);
  send(1);
  EXPECT_EQ(posted(), 0U);
  CellHead filler = head(Op::kSend, 0x100);
  filler.header.dqpn = filler.header.sqpn = Qpn();
  inject(filler, base::Bytes{});
  expect_reply(Op::kNak, AckCode::kInvalidRdRequest, 0);
  EXPECT_EQ(posted(), 1U);
  for (std::uint32_t csn = 0; csn < kCells; ++csn) send(csn, 0, 0x101);
  expect_received();
}

TEST_F(RdCellsWireTest, S000_12_P_RD_20_a_sender_keeps_to_its_window_and_goes_back) {
  const Qpn from = make(pair_.a());
  Memory& message = pair_.a().memory(kMessageCells * kMcp, 3);
  const std::vector<Sge> pieces{message.sge()};
  SendWr wr;
  wr.gather = pieces;
  wr.destination_ee = mine_;
  wr.destination_qpn = Qpn(0x77);
  ASSERT_TRUE(pair_.a().adapter->post_send(from, wr));
  pair_.run_for(1ms);
  std::vector<MacHeader> sent = replies();
  ASSERT_EQ(sent.size(), kEeWindow);
  const Psn psn = sent[0].psn;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i].psn, psn);
    EXPECT_EQ(sent[i].csn, i);
    EXPECT_EQ(sent[i].pos, i == 0 ? Pos::kFirst : Pos::kMiddle);
    EXPECT_EQ((sent[i].flags & kFlagAckRequest) != 0, i % 8 == 7) << i;
  }
  reply(AckCode::kAck, psn, kMessageCells - 1, from);
  EXPECT_EQ(count(TransportCounter::kAckStale), 1U) << "that cell was not sent";
  EXPECT_TRUE(pair_.a().sent.empty());
  reply(AckCode::kAck, psn, 7, from);
  sent = replies();
  ASSERT_EQ(sent.size(), 8U);
  EXPECT_EQ(sent.front().csn, kEeWindow);
  EXPECT_EQ(sent.back().pos, Pos::kLast);
  EXPECT_TRUE(pair_.a().sent.empty());
  reply(AckCode::kSequence, psn, 20, from);
  sent = replies();
  ASSERT_EQ(sent.size(), kMessageCells - 20U);
  EXPECT_EQ(sent.front().csn, 20U);
  for (const MacHeader& h : sent) EXPECT_NE(h.flags & kFlagRetransmission, 0);
  reply(AckCode::kSequence, psn, 19, from);
  EXPECT_EQ(count(TransportCounter::kAckStale), 2U) << "that cell was acknowledged";
  EXPECT_TRUE(replies().empty());
  reply(AckCode::kAck, psn, kMessageCells - 1, from);
  ASSERT_EQ(pair_.a().sent.size(), 1U);
  EXPECT_EQ(pair_.a().sent[0].status, WcStatus::kSuccess);
}

TEST_F(RdCellsWireTest, S000_12_P_RD_17_messages_are_sent_one_after_the_other) {
  Memory& message = pair_.a().memory(kMessageCells * kMcp, 3);
  const std::vector<Sge> pieces{message.sge()};
  SendWr wr;
  wr.gather = pieces;
  wr.destination_ee = mine_;
  wr.destination_qpn = Qpn(0x77);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pair_.a().adapter->post_send(make(pair_.a()), wr));
  }
  pair_.run_for(1ms);
  std::vector<MacHeader> sent = replies();
  ASSERT_EQ(sent.size(), kEeWindow) << "of the first";
  const Psn first = sent.front().psn;
  const Qpn from = sent.front().sqpn;
  reply(AckCode::kAck, first, 31, from);
  sent = replies();
  ASSERT_EQ(sent.size(), kEeWindow);
  EXPECT_EQ(sent[7].psn, first);
  EXPECT_EQ(sent[7].pos, Pos::kLast);
  EXPECT_EQ(sent[8].psn, first + 1U);
  EXPECT_EQ(sent[8].csn, 0U);
  EXPECT_NE(sent[8].sqpn, from);
}

// Three cells and a little: the fourth is too long.
class RdShortMessages : public RdCellsWireTest {
 protected:
  RdShortMessages() : RdCellsWireTest(3 * kMcp + kLastBytes - 1) {}
};

TEST_F(RdShortMessages, X_10_P_RD_16_a_message_that_is_longer_than_agreed_is_refused) {
  for (std::uint32_t csn = 0; csn < kCells; ++csn) send(csn);
  expect_reply(Op::kNak, AckCode::kInvalidRequest, 3);
  EXPECT_TRUE(pair_.a().received.empty());
  EXPECT_EQ(posted(), 1U);
}

// By default a context takes no cell that is a part of a message.
class RdOneCell : public RdCellsWireTest {
 protected:
  RdOneCell() : RdCellsWireTest(0) {}
};

TEST_F(RdOneCell, X_10_P_RD_2_the_default_is_one_cell) {
  send(0);
  expect_reply(Op::kNak, AckCode::kInvalidRequest, 0);
  EXPECT_EQ(posted(), 1U);
  const MgmtPair mine = pair_.a().adapter->contexts().describe(mine_, 0);
  EXPECT_EQ(mine.msg_max, mine.mcp);
}

}  // namespace splitnic::fabric::testing::rd_cells_wire_test
