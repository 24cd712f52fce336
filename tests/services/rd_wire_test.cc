// RD against cells that are made by hand: order, duplicates, gaps, strangers, losses.
#include "tests/services/rd_wire_fixture.h"

namespace splitnic::fabric::testing::rd_wire_test {

using namespace std::chrono_literals;

class RdWireTest : public RdWireFixture {};

TEST_F(RdWireTest, S000_12_a_result_names_its_message_and_the_senders_context) {
  inject(write(0x100));
  EXPECT_TRUE(has_written(std::byte{1}));
  const auto sent = replies();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].op, Op::kAck);
  EXPECT_EQ(sent[0].psn, Psn(0x100));
  EXPECT_EQ(sent[0].dqpn, Qpn(0x77));
  EXPECT_EQ(sent[0].sqpn, target_);
  inject(head(Op::kSend, 0x101));  // no receive is posted
  std::vector<AckExt> acks;
  ASSERT_EQ(replies(&acks).size(), 1U);
  EXPECT_EQ(acks[0].code, AckCode::kRnr);
  inject(head(Op::kSend, 0x102));
  acks.clear();
  EXPECT_EQ(replies(&acks)[0].psn, Psn(0x102)) << "that result was final";
}

TEST_F(RdWireTest, S000_12_a_duplicate_gets_its_result_once_more_and_is_not_executed) {
  inject(write(0x100));
  inject(write(0x101), std::byte{2});
  replies();
  inject(write(0x100), std::byte{3});
  EXPECT_TRUE(has_written(std::byte{2}));
  const auto sent = replies();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].psn, Psn(0x100));
  EXPECT_EQ(count(TransportCounter::kRxDuplicate), 1U);
  // A refusal is kept as well: the queue pair that it named may exist by now.
  CellHead nobody = write(0x102);
  nobody.header.dqpn = Qpn(0xABCDE);
  inject(nobody);
  CellHead late = write(0x102);
  inject(late, std::byte{4});
  std::vector<AckExt> acks;
  ASSERT_EQ(replies(&acks).size(), 2U);
  for (const AckExt& ack : acks) EXPECT_EQ(ack.code, AckCode::kInvalidRdRequest);
  EXPECT_TRUE(has_written(std::byte{2}));
  // One that is older than what is kept gets nothing.
  for (std::uint32_t i = 0; i < kEeWindow; ++i) inject(write(0x103 + i), std::byte{5});
  replies();
  inject(write(0x102), std::byte{6});
  EXPECT_TRUE(replies().empty());
}

TEST_F(RdWireTest, S000_12_a_gap_gets_one_nak_and_nothing_behind_it_is_taken) {
  inject(write(0x102));
  inject(write(0x103));
  EXPECT_TRUE(to_.is_zero());
  std::vector<AckExt> acks;
  const auto sent = replies(&acks);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(acks[0].code, AckCode::kSequence);
  EXPECT_EQ(sent[0].psn, Psn(0x100));
  inject(write(0x100), std::byte{7});
  EXPECT_TRUE(has_written(std::byte{7}));
  replies();
  inject(write(0x103));
  EXPECT_EQ(replies().size(), 1U) << "the next gap";
}

TEST_F(RdWireTest, S000_12_another_position_than_only_is_refused) {
  CellHead first = head(Op::kSend, 0x100);
  first.header.pos = Pos::kFirst;
  ASSERT_TRUE(pair_.a().post_recv(target_, {}));
  inject(first);
  std::vector<AckExt> acks;
  replies(&acks);
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks[0].code, AckCode::kInvalidRequest);
  EXPECT_EQ(pair_.a().qp(target_).responder().posted(), 1U);
  inject(write(0x101));
  EXPECT_TRUE(has_written(std::byte{1})) << "the context continues";
}

TEST_F(RdWireTest, S000_12_cells_of_others_change_nothing) {
  CellHead unknown = write(0x100);
  unknown.ee = mine_.value ^ 1;
  inject(unknown);
  EXPECT_EQ(count(TransportCounter::kCellDropEe), 1U);
  CellHead foreign = write(0x100);
  foreign.header.partition = PartitionKey(0x8005);
  inject(foreign);
  EXPECT_EQ(count(TransportCounter::kCellDropPartition), 1U);
  CellHead wrong = write(0x100);
  wrong.header.slid = Lid(999);
  inject(wrong);
  EXPECT_EQ(count(TransportCounter::kCellDropSource), 1U);
  const EeId fresh = pair_.a().adapter->contexts().create({}).value();
  CellHead early = write(0x100);
  early.ee = fresh.value;
  inject(early);
  EXPECT_EQ(count(TransportCounter::kCellDropState), 1U);
  AckExt ack;
  CellHead stray = head(Op::kAck, 0x555);
  stray.ack = &ack;
  inject(stray);
  EXPECT_EQ(count(TransportCounter::kAckStale), 1U);
  EXPECT_TRUE(to_.is_zero());
  EXPECT_TRUE(replies().empty());
}

// A reply that is none of its request: the message fails, and no memory changes.
TEST_F(RdWireTest, S000_12_a_reply_of_another_operation_is_a_bad_response) {
  const Qpn from = make(pair_.a());
  Memory& back = pair_.a().memory(8);
  for (const bool reads : {true, false}) {
    SendWr wr;
    wr.op = reads ? WrOp::kRdmaRead : WrOp::kRdmaWrite;
    const std::vector<Sge> pieces{back.sge()};
    wr.gather = pieces;
    wr.destination_ee = mine_;
    wr.destination_qpn = Qpn(0x77);
    ASSERT_TRUE(pair_.a().adapter->post_send(from, wr));
    pair_.run_for(1ms);
    const MacHeader request = replies().at(0);
    AckExt ack;
    CellHead wrong = head(reads ? Op::kAck : Op::kRdmaReadResp, request.psn.value);
    wrong.header.dqpn = from;
    if (reads) wrong.ack = &ack;
    pair_.a().tap.inject(pair_.address(1), make_cell(wrong, std::vector<std::byte>(reads ? 0 : 8)));
    back.fill(4);
    const auto before = back.bytes;
    pair_.run_for(1ms);
    ASSERT_EQ(pair_.a().sent.size(), 1U);
    EXPECT_EQ(pair_.a().sent[0].status, WcStatus::kBadResponse);
    EXPECT_EQ(back.bytes, before);
    pair_.a().sent.clear();
    ASSERT_TRUE(pair_.a().adapter->modify_qp(from, QpState::kRts, 0, {}));
  }
}

// A cell of another service cannot come to an RD queue pair, nor one of RD to another.
TEST_F(RdWireTest, S000_12_services_do_not_mix) {
  CellHead rc = write(0x100);
  rc.header.service = Service::kRc;
  rc.ee.reset();
  inject(rc);
  EXPECT_EQ(count(TransportCounter::kCellDropSource), 1U);
  QpInit ud;
  ud.service = Service::kUd;
  CellHead to_ud = write(0x100);
  to_ud.header.dqpn = pair_.make_ud(pair_.a(), ud);
  inject(to_ud);
  std::vector<AckExt> acks;
  replies(&acks);
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks[0].code, AckCode::kInvalidRdRequest);
  EXPECT_TRUE(to_.is_zero());
}

// A message of eight, or its reply, is lost in turn; each is of another queue pair.
TEST_F(RdWireTest, S000_12_a_loss_shows_before_the_time_out) {
  for (unsigned lost = 0; lost < 8; ++lost) {
    AdapterPair pair;
    End& loses = lost < 4 ? pair.a() : pair.b();
    const EeId a = pair.a().adapter->contexts().create({}).value();
    const EeId b = pair.b().adapter->contexts().create({.fixed_rto = 10s}).value();
    const MgmtPair here = pair.a().adapter->contexts().describe(a, 0);
    const MgmtPair there = pair.b().adapter->contexts().describe(b, 0);
    ASSERT_TRUE(pair.a().adapter->contexts().connect(here, there, pair.a().link()));
    ASSERT_TRUE(pair.b().adapter->contexts().connect(there, here, pair.b().link()));
    const Qpn target = make(pair.a());
    Memory& room = pair.a().memory(8);
    Memory& from = pair.b().memory(8, 3);
    for (unsigned i = 0; i < 8; ++i) {
      SendWr wr;
      wr.op = WrOp::kRdmaWrite;
      const std::vector<Sge> pieces{from.sge()};
      wr.gather = pieces;
      wr.remote_address = room.start;
      wr.remote_handle = room.handle;
      wr.destination_ee = b;
      wr.destination_qpn = target;
      loses.faults.set_config({.loss_ppm = i == lost % 4 ? 1'000'000U : 0U});
      ASSERT_TRUE(pair.b().adapter->post_send(make(pair.b()), wr));
      pair.run_for(20us);
    }
    ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 8; }, 1s)) << lost;
    for (const Wc& wc : pair.b().sent) EXPECT_EQ(wc.status, WcStatus::kSuccess);
  }
}

// Ten seconds without a link: no try is used up.
TEST_F(RdWireTest, S000_12_a_cut_link_ends_no_context) {
  const EeId id = connect(pair_.b(), pair_.b().link(), mine_.value);
  const Qpn from = make(pair_.b());
  SendWr wr;
  wr.destination_ee = id;
  wr.destination_qpn = target_;
  ASSERT_TRUE(pair_.a().post_recv(target_, {}));
  for (End* end : {&pair_.a(), &pair_.b()}) end->faults.set_cut(true);
  ASSERT_TRUE(pair_.b().adapter->post_send(from, wr));
  pair_.run_for(10s);
  EXPECT_FALSE(pair_.b().link().up());
  EXPECT_TRUE(pair_.b().adapter->contexts().find(id)->is_ready());
  EXPECT_TRUE(pair_.b().sent.empty());
}

// Another process has the peer's address: its messages fail long before their tries are used up.
TEST_F(RdWireTest, X_46_a_new_instance_of_the_peer_ends_the_context) {
  const EeId id = connect(pair_.b(), pair_.b().link(), mine_.value);
  SendWr wr;
  wr.destination_ee = id;
  wr.destination_qpn = target_;
  pair_.a().faults.drop_received([](base::Bytes) { return true; });
  ASSERT_TRUE(pair_.b().adapter->post_send(make(pair_.b()), wr));
  pair_.run_for(20us);
  ASSERT_EQ(pair_.b().adapter->contexts().find(id)->in_flight(), 1U);
  pair_.a().faults.drop_received({});
  pair_.in_process().endpoint(0).clear();
  pair_.a().start();
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }, 1s));
  EXPECT_EQ(pair_.b().sent[0].status, WcStatus::kRetryExceeded);
  EXPECT_EQ(pair_.b().count(TransportCounter::kEeErrors), 1U);
  EXPECT_FALSE(pair_.b().adapter->contexts().find(id)->is_ready());
}

}  // namespace splitnic::fabric::testing::rd_wire_test
