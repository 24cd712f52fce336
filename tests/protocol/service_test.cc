// The guarantees of the services: RC, UC, UD, connected and connectionless.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"

namespace splitnic::fabric::testing::service_test {

using namespace std::chrono_literals;

base::Duration time_to_complete(Service service) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.common = {.fixed_rto = 1s}, .service = service});
  Memory& to = pair.a().memory(100);
  Memory& from = pair.b().memory(100, 1);
  FaultConfig delay;
  delay.delay = 50ms;
  pair.b().faults.set_config(delay);  // what comes back to b is late
  const base::Time start = pair.now();
  EXPECT_TRUE(pair.a().post_recv(qp.a, {to.sge()}));
  EXPECT_TRUE(pair.b().post_send(qp.b, {from.sge()}));
  EXPECT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  const base::Duration took = pair.now() - start;
  EXPECT_TRUE(pair.run_until([&] { return !pair.a().received.empty(); }));
  EXPECT_EQ(to.bytes, from.bytes);
  EXPECT_EQ(pair.a().count(TransportCounter::kTxAcks), service == Service::kRc ? 1U : 0U);
  return took;
}

TEST(ServiceTest, S001_30_acknowledged_completes_with_the_ack) {
  EXPECT_GE(time_to_complete(Service::kRc), 50ms);
}

TEST(ServiceTest, S001_30_unacknowledged_completes_on_the_wire) {
  EXPECT_LE(time_to_complete(Service::kUc), 100us);
}

TEST(ServiceTest, S001_31_a_third_queue_pair_is_not_heard) {
  PairOptions options;
  options.ends = 3;
  AdapterPair pair(options);
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(100);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge()}));

  // Another queue pair of the right end, then the right number at another end.
  const Qpn third = pair.b().create_qp(QpInit{});
  CellMaker same_end(pair, 1, third, 0, qp.a);
  CellMaker real(pair, 1, qp.b, 0, qp.a);
  same_end.psn = real.psn;
  same_end.lcn = real.lcn;
  const std::vector<std::byte> payload(50, std::byte{1});
  same_end.send(Op::kSend, Pos::kOnly, payload);
  pair.run_for(1ms);
  EXPECT_EQ(pair.a().count(TransportCounter::kCellDropSource), 1U);
  auto elsewhere = real.next(Op::kSend, Pos::kOnly, payload);
  pair.a().tap.inject(pair.address(2), elsewhere);
  pair.run_for(1ms);
  EXPECT_EQ(pair.a().count(TransportCounter::kCellDropSource), 2U);
  EXPECT_TRUE(to.is_zero());
  EXPECT_TRUE(pair.a().received.empty());
  real.inject(elsewhere);
  pair.run_for(1ms);
  EXPECT_EQ(pair.a().received.size(), 1U);
}

TEST(ServiceTest, S001_32_one_queue_pair_sends_to_three) {
  PairOptions options;
  options.ends = 4;
  AdapterPair pair(options);
  const Qpn from = pair.make_ud(pair.a());
  Memory& text = pair.a().memory(100, 5);
  std::vector<Memory*> to;
  std::vector<Qpn> qpns;
  for (std::size_t i = 1; i < 4; ++i) {
    qpns.push_back(pair.make_ud(pair.end(i)));
    to.push_back(&pair.end(i).memory(100));
    ASSERT_TRUE(pair.end(i).post_recv(qpns.back(), {to.back()->sge()}));
  }
  const std::vector<Sge> gather{text.sge()};
  for (std::size_t i = 0; i < 3; ++i) {
    SendWr wr;
    wr.gather = gather;
    wr.destination_lid = pair.a().links[i]->remote_lid();
    wr.destination_qpn = Qpn(0);
    EXPECT_FALSE(pair.a().adapter->post_send(from, wr));  // no destination
    // Links come up in any order: find the end that this one leads to.
    for (std::size_t e = 1; e < 4; ++e) {
      if (pair.end(e).link().local_lid() == wr.destination_lid) wr.destination_qpn = qpns[e - 1];
    }
    EXPECT_TRUE(pair.a().adapter->post_send(from, wr));
  }
  pair.run_for(1ms);
  EXPECT_EQ(pair.a().sent.size(), 3U);
  EXPECT_EQ(pair.a().count(TransportCounter::kTxCells), 3U);
  SendWr nowhere;  // a queue pair, and the LID of nobody
  nowhere.gather = gather;
  nowhere.destination_qpn = qpns[0];
  static_cast<void>(pair.a().adapter->post_send(from, nowhere));
  pair.run_for(1ms);
  EXPECT_EQ(pair.a().count(TransportCounter::kTxCells), 3U) << "no cell leaves for LID 0";
  for (std::size_t i = 1; i < 4; ++i) {
    ASSERT_EQ(pair.end(i).received.size(), 1U);
    EXPECT_EQ(pair.end(i).received[0].source_qpn, from);
    EXPECT_EQ(to[i - 1]->bytes, text.bytes);
  }
}

TEST(ServiceTest, S001_34_a_connectionless_packet_has_one_cell) {
  PairOptions options;
  options.mcp = 256;
  AdapterPair pair(options);
  const Qpn from = pair.make_ud(pair.b());
  Memory& text = pair.b().memory(257, 5);
  pair.b().tap.is_recording = true;
  SendWr wr;
  const std::vector<Sge> long_one{text.sge()}, short_one{text.sge(0, 256)};
  wr.gather = long_one;
  wr.destination_lid = pair.b().link().remote_lid();
  wr.destination_qpn = Qpn(99);
  const auto refused = pair.b().adapter->post_send(from, wr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value(), EMSGSIZE);
  pair.run_for(1ms);
  EXPECT_TRUE(pair.b().tap.cells.empty());
  wr.gather = short_one;
  EXPECT_TRUE(pair.b().adapter->post_send(from, wr));
  pair.run_for(1ms);
  EXPECT_EQ(pair.b().tap.cells.size(), 1U);
}

TEST(ServiceTest, T_18_a_datagram_that_does_not_fit_is_dropped_and_the_rest_continues) {
  AdapterPair pair;
  const Qpn from = pair.make_ud(pair.b());
  const Qpn to = pair.make_ud(pair.a());
  Memory& text = pair.b().memory(200, 5);
  Memory& room = pair.a().memory(100);
  const auto send = [&](std::size_t bytes) {
    const std::vector<Sge> gather{text.sge(0, bytes)};
    SendWr wr;
    wr.gather = gather;
    wr.destination_lid = pair.b().link().remote_lid();
    wr.destination_qpn = to;
    EXPECT_TRUE(pair.b().adapter->post_send(from, wr));
    pair.run_for(1ms);
  };
  send(50);
  EXPECT_EQ(pair.a().count(TransportCounter::kDropUdNoReceive), 1U);
  ASSERT_TRUE(pair.a().post_recv(to, {room.sge()}));
  send(101);
  EXPECT_EQ(pair.a().count(TransportCounter::kDropUdLength), 1U);
  EXPECT_TRUE(pair.a().received.empty());
  EXPECT_TRUE(room.is_zero());
  EXPECT_EQ(pair.a().qp(to).state(), QpState::kRts);
  send(100);
  ASSERT_EQ(pair.a().received.size(), 1U);
  EXPECT_EQ(pair.a().received[0].bytes, 100U);
}

// Service x operation: the cells that a queue pair accepts. docs/protocol/cell.md#operations
struct Allowed {
  Service service;
  Op op;
  bool taken;
};

class Matrix : public ::testing::TestWithParam<Allowed> {};

TEST_P(Matrix, S004_02_operations_of_a_service) {
  const auto [service, op, taken] = GetParam();
  AdapterPair pair;
  const QpPair qp = service == Service::kUd ? QpPair{pair.make_ud(pair.a()), pair.make_ud(pair.b())}
                                            : pair.connect({.service = service});
  Memory& to = pair.a().memory(100);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge()}));
  CellMaker maker(pair, 1, qp.b, 0, qp.a);
  if (service == Service::kUd) maker.psn = Psn(0);
  const std::vector<std::byte> payload(op == Op::kRdmaReadReq || op == Op::kFetchOpReq ? 0 : 20,
                                       std::byte{7});
  CellHead head;
  head.header = maker.header(op, Pos::kOnly);
  const OpInfo info = op_info(op, Service::kRc);
  if (info.va_mh == VaMhRule::kFirstOrOnly) {
    head.va_mh = VaMh{to.start, to.handle, static_cast<std::uint32_t>(payload.size())};
  }
  const AtomicExt atomic;
  if (info.has_atomic) head.atomic = &atomic;
  if (info.has_dereg) head.dereg = 5;
  maker.inject(make_cell(head, payload));
  pair.run_for(1ms);
  EXPECT_EQ(!to.is_zero(), taken);
  const bool refused = !taken && service == Service::kRc;
  EXPECT_EQ(pair.a().count(TransportCounter::kTxNaks), refused ? 1U : 0U);
  EXPECT_EQ(pair.a().qp(qp.a).state(), refused ? QpState::kErr : QpState::kRts);
}

INSTANTIATE_TEST_SUITE_P(
    All, Matrix,
    ::testing::Values(
        Allowed{Service::kRc, Op::kSend, true}, Allowed{Service::kRc, Op::kRdmaWrite, true},
        Allowed{Service::kRc, Op::kSendDereg, false},
        Allowed{Service::kRc, Op::kRdmaReadReq, false},
        Allowed{Service::kRc, Op::kFetchOpReq, false}, Allowed{Service::kRc, Op::kRaw, false},
        Allowed{Service::kRc, static_cast<Op>(0x3F), false}, Allowed{Service::kUc, Op::kSend, true},
        Allowed{Service::kUc, Op::kRdmaWrite, true}, Allowed{Service::kUc, Op::kSendDereg, false},
        Allowed{Service::kUc, Op::kRdmaReadReq, false},
        Allowed{Service::kUc, Op::kFetchOpReq, false}, Allowed{Service::kUd, Op::kSend, true},
        Allowed{Service::kUd, Op::kRdmaWrite, false},
        Allowed{Service::kUd, Op::kRdmaReadReq, false}),
    [](const auto& test) {
      return std::string(name(test.param.service)) + "_" +
             (name(test.param.op) == "unknown" ? "unknown" : std::string(name(test.param.op)));
    });

TEST(ServiceTest, S004_02_posts_that_a_service_does_not_allow_are_refused) {
  AdapterPair pair;
  const Qpn ud = pair.make_ud(pair.b());
  SendWr wr;
  wr.op = WrOp::kRdmaWrite;
  wr.destination_lid = pair.b().link().remote_lid();
  wr.destination_qpn = Qpn(77);
  EXPECT_FALSE(pair.b().adapter->post_send(ud, wr));
}

// Ten cells per packet; drops the cell with this number of the second packet, the first time.
TEST(ServiceTest, S004_03_a_packet_with_a_hole_is_dropped_whole) {
  for (const unsigned hole : {0U, 4U, 9U}) {
    AdapterPair pair;
    const QpPair qp = pair.connect({.service = Service::kUc});
    const std::size_t bytes = std::size_t{pair.a().link().mcp()} * 10;
    Memory& to = pair.a().memory(3 * bytes);
    Memory& from = pair.b().memory(3 * bytes, 4);
    unsigned seen = 0;
    pair.a().faults.drop_received([&](base::Bytes) { return seen++ == 10 + hole; });
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge(i * bytes, bytes)}, i));
      ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge(i * bytes, bytes)}, i));
    }
    pair.run_for(10ms);
    ASSERT_EQ(pair.b().sent.size(), 3U) << "the sender completes all";
    for (const Wc& wc : pair.b().sent) EXPECT_EQ(wc.status, WcStatus::kSuccess);
    ASSERT_EQ(pair.a().received.size(), 2U);
    EXPECT_EQ(pair.a().received[0].wr_id, 0U);
    EXPECT_EQ(pair.a().received[1].wr_id, 1U) << "the receive of the lost packet is used again";
    EXPECT_TRUE(std::equal(to.bytes.begin() + static_cast<std::ptrdiff_t>(bytes),
                           to.bytes.begin() + static_cast<std::ptrdiff_t>(2 * bytes),
                           from.bytes.begin() + static_cast<std::ptrdiff_t>(2 * bytes)));
    EXPECT_EQ(pair.a().count(TransportCounter::kDropUcLost), 1U);
    EXPECT_EQ(pair.a().count(TransportCounter::kTxAcks), 0U);
    EXPECT_EQ(pair.a().qp(qp.a).state(), QpState::kRts);
  }
}

TEST(ServiceTest, S004_03_old_and_doubled_datagrams_do_not_disturb_a_packet) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.service = Service::kUc});
  const std::size_t mcp = pair.a().link().mcp();
  Memory& to = pair.a().memory(3 * mcp);
  Memory& from = pair.b().memory(3 * mcp, 4);
  CellMaker maker(pair, 1, qp.b, 0, qp.a);
  std::vector<std::byte> old;
  for (unsigned packet = 0; packet < 10; ++packet) {
    ASSERT_TRUE(pair.a().post_recv(qp.a));
    to.clear();
    std::vector<std::byte> first;
    for (std::size_t i = 0; i < 3; ++i) {
      CellParts parts;
      if (i == 0) parts.va_mh = VaMh{to.start, to.handle, static_cast<std::uint32_t>(3 * mcp)};
      if (i == 2) parts.idata = packet;
      const auto cell = maker.next(Op::kRdmaWrite,
                                   i == 0   ? Pos::kFirst
                                   : i == 1 ? Pos::kMiddle
                                            : Pos::kLast,
                                   base::Bytes(from.bytes).subspan(i * mcp, mcp), parts);
      if (i == 0) first = cell;
      maker.inject(cell);
      maker.inject(cell);
      maker.inject(first);
      if (!old.empty()) maker.inject(old);
    }
    old = first;
    pair.run_for(100us);
    EXPECT_EQ(pair.a().received.size(), packet + 1);
    EXPECT_EQ(to.bytes, from.bytes);
  }
  EXPECT_EQ(pair.a().count(TransportCounter::kRxDuplicate), 10U * 6 + 9U * 3);
}

TEST(ServiceTest, S000_38_inside_a_subnet_there_is_no_global_header) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  pair.b().tap.is_recording = true;
  Memory& to = pair.a().memory(10'000);
  Memory& from = pair.b().memory(10'000, 4);
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_GE(pair.b().tap.cells.size(), 9U);
  for (const TappedCell& cell : pair.b().tap.cells) {
    EXPECT_EQ(cell.header().flags & kFlagGlobal, 0);
    EXPECT_EQ(cell.header().dlid,
              cell.sent ? pair.b().link().remote_lid() : pair.b().link().local_lid());
  }
}

}  // namespace splitnic::fabric::testing::service_test
