// A stream from CONNECT to its end: set up by MGMT cells, over each kind of link, next to other
// queue pairs, and when the peer or the link goes away.
#include <gtest/gtest.h>

#include "tests/support/stream_harness.h"

namespace splitnic::fabric::testing::stream_connect_test {

using namespace std::chrono_literals;

// Joins the two streams of a harness by CONNECT.
class Connector final : public ConnectionHandler {
 public:
  Connector(Adapter& adapter, Qpn qpn) : adapter_(adapter), qpn_(qpn) {
    adapter.connections().set_handler(*this);
  }
  void on_link_up(Link&) override {}
  void on_link_down(Link&, std::string_view) override {}
  MgmtReject on_connect_request(ConnectionId, Link& link, const Mgmt& request,
                                Mgmt& reply) override {
    reply.pair_count = 1;
    reply.pairs[0] = adapter_.describe(qpn_, 0, 0);
    reply.pairs[0].peer_qpn = request.pairs[0].qpn;
    const bool fits = adapter_.connect_qp(reply.pairs[0], request.pairs[0], link).has_value();
    return fits ? MgmtReject::kNone : MgmtReject::kBadParameter;
  }
  bool on_connected(ConnectionId, Link& link, const Mgmt& reply) override {
    is_connected =
        adapter_.connect_qp(adapter_.describe(qpn_, 0, 0), reply.pairs[0], link).has_value();
    return is_connected;
  }
  void on_rejected(ConnectionId, MgmtReject code, base::Bytes) override { rejected = code; }
  void on_disconnected(ConnectionId, std::string_view) override {}

  bool is_connected = false;
  MgmtReject rejected = MgmtReject::kNone;

 private:
  Adapter& adapter_;
  Qpn qpn_;
};

void write_and_check(StreamHarness& harness, std::size_t bytes) {
  Memory& from = harness.b().memory(bytes, 3);
  Memory& to = harness.a().memory(bytes);
  harness.b().sent.clear();
  ASSERT_TRUE(harness.b().post_write(harness.qb, {from.sge()}, to.start, to.handle));
  ASSERT_TRUE(harness.run_sent(1));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, from.bytes);
}

TEST(StreamConnectTest, S002_01_connect_has_kind_window_and_first_numbers) {
  StreamInit at_a = StreamHarness::reads(2);
  at_a.window_bytes = 5000;
  StreamHarness harness(at_a, StreamHarness::reads(9), StreamHarness::options());
  Connector passive(*harness.a().adapter, harness.qa);
  Connector active(*harness.b().adapter, harness.qb);
  const MgmtPair described = harness.b().adapter->describe(harness.qb, 0, 0);
  harness.b().adapter->connections().connect(harness.b().link(), {&described, 1}, {},
                                             harness.pair.now());
  ASSERT_TRUE(harness.pair.run_until([&] { return active.is_connected; }));
  EXPECT_EQ(harness.sa().expected_number(), harness.sb().next_number());
  EXPECT_EQ(harness.sb().expected_number(), harness.sa().next_number());
  write_and_check(harness, 100'000);
  EXPECT_EQ(harness.count_a(StreamCounter::kDropWindow), 0U);
}

TEST(StreamConnectTest, S002_01_connect_refuses_another_kind) {
  StreamHarness harness(StreamHarness::reads(), StreamHarness::of_kind(StreamKind::kPlain),
                        StreamHarness::options());
  Connector passive(*harness.a().adapter, harness.qa);
  Connector active(*harness.b().adapter, harness.qb);
  const MgmtPair described = harness.b().adapter->describe(harness.qb, 0, 0);
  harness.b().adapter->connections().connect(harness.b().link(), {&described, 1}, {},
                                             harness.pair.now());
  ASSERT_TRUE(harness.pair.run_until([&] { return active.rejected != MgmtReject::kNone; }));
  EXPECT_EQ(active.rejected, MgmtReject::kBadParameter);
  EXPECT_EQ(harness.sb().state(), QpState::kInit);
}

TEST(StreamConnectTest, S002_01_it_runs_over_each_kind_of_link) {
  PairOptions speed, head_only, full;
  head_only.crc_head_only = true;
  full.profile = LinkProfile::kFull;
  for (const PairOptions& options : {speed, head_only, full}) {
    StreamInit init = StreamHarness::reads();
    init.common.mcp = 0;
    StreamLine harness(init, options);
    write_and_check(harness, 300'000);
    Memory& there = harness.a().memory(100'000, 4);
    Memory& into = harness.b().memory(100'000);
    ASSERT_TRUE(post_read(harness.b(), harness.qb, {into.sge()}, there));
    ASSERT_TRUE(harness.run_sent(2));
    EXPECT_EQ(into.bytes, there.bytes);
    EXPECT_EQ(harness.count_b(StreamCounter::kTimeouts), 0U);
  }
}

TEST(StreamConnectTest, S002_01_streams_and_other_queue_pairs_do_not_mind_each_other) {
  StreamLine harness;
  const QpPair rc = harness.pair.connect(QpInit{});
  Memory& from = harness.b().memory(200'000, 3);
  Memory& by_rc = harness.a().memory(200'000);
  Memory& by_stream = harness.a().memory(200'000);
  EXPECT_EQ(harness.a().adapter->qp_count(), 2U);
  ASSERT_TRUE(harness.b().post_write(rc.b, {from.sge()}, by_rc.start, by_rc.handle, 1));
  ASSERT_TRUE(
      harness.b().post_write(harness.qb, {from.sge()}, by_stream.start, by_stream.handle, 2));
  ASSERT_TRUE(harness.run_sent(2));
  EXPECT_EQ(by_rc.bytes, from.bytes);
  EXPECT_EQ(by_stream.bytes, from.bytes);
  // A STREAM cell for the RC queue pair, and the other way round.
  StreamMaker maker(harness);
  CellHead head = maker.head(Op::kSend, Pos::kOnly);
  head.header.dqpn = rc.a;
  maker.inject(make_cell(head, some_bytes(10)));
  EXPECT_EQ(harness.a().count(TransportCounter::kCellDropSource), 1U);
  head = maker.head(Op::kSend, Pos::kOnly);
  head.header.service = Service::kRc;
  head.stream_number.reset();
  maker.inject(make_cell(head, some_bytes(10)));
  EXPECT_EQ(harness.count_a(StreamCounter::kDropSource), 1U);
}

TEST(StreamConnectTest, F_48_a_peer_that_restarted_ends_the_stream) {
  StreamLine harness;
  Memory& from = harness.a().memory(100, 1);
  harness.b().faults.set_config({.loss_ppm = 1'000'000});
  ASSERT_TRUE(harness.a().post_send(harness.qa, {from.sge()}));
  harness.b().faults.set_config({});
  harness.pair.in_process().endpoint(1).clear();
  harness.b().start();
  ASSERT_TRUE(harness.pair.run_until([&] { return !harness.a().sent.empty(); }));
  EXPECT_EQ(harness.a().sent[0].status, WcStatus::kFlushed);
  EXPECT_EQ(harness.sa().state(), QpState::kErr);
}

TEST(StreamConnectTest, S002_01_a_link_that_comes_back_takes_it_up_again) {
  StreamLine harness;
  Memory& from = harness.b().memory(100'000, 1);
  Memory& to = harness.a().memory(100'000);
  harness.a().faults.set_cut(true);
  ASSERT_TRUE(harness.b().post_write(harness.qb, {from.sge()}, to.start, to.handle));
  harness.pair.run_for(2s);
  EXPECT_TRUE(harness.b().sent.empty());
  harness.a().faults.set_cut(false);
  ASSERT_TRUE(harness.run_sent(1));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, from.bytes);
}

TEST(StreamConnectTest, a_stream_that_was_destroyed_takes_nothing) {
  StreamLine harness;
  StreamMaker maker(harness);
  harness.a().adapter->destroy_qp(harness.qa, harness.pair.now());
  EXPECT_EQ(harness.a().adapter->streams().find(harness.qa), nullptr);
  maker.inject(maker.send(some_bytes(10)));
  EXPECT_EQ(harness.a().count(TransportCounter::kCellDropQp), 1U);
  EXPECT_FALSE(harness.a().post_send(harness.qa, {}));
  EXPECT_FALSE(harness.a().post_recv(harness.qa));
}

TEST(StreamConnectTest, what_cannot_be_is_refused) {
  AdapterPair pair;
  const auto is_made = [&](auto&& change) {
    StreamInit init = StreamHarness::reads();
    init.common.pd = pair.a().pd;
    init.common.send_cq = pair.a().send_cq;
    init.common.recv_cq = pair.a().recv_cq;
    change(init);
    return pair.a().adapter->create_stream(init, pair.now()).has_value();
  };
  EXPECT_TRUE(is_made([](StreamInit&) {}));
  EXPECT_FALSE(is_made([](StreamInit& init) { init.common.send_depth = 0; }));
  EXPECT_FALSE(is_made([](StreamInit& init) { init.common.receive_depth = 0; }));
  EXPECT_FALSE(is_made([](StreamInit& init) { init.common.max_dest_rd_atomic = kReadsMax + 1; }));
  EXPECT_FALSE(is_made([](StreamInit& init) { init.common.max_rd_atomic = kReadsMax + 1; }));
  EXPECT_FALSE(is_made([](StreamInit& init) { init.window_bytes = (1U << 30) + 1; }));
  EXPECT_FALSE(is_made([](StreamInit& init) { init.common.mcp = 30; }));
}

TEST(StreamConnectTest, posts_are_refused_as_a_whole) {
  StreamInit init = StreamHarness::reads();
  init.common.send_depth = 2;
  init.common.receive_depth = 2;
  StreamLine harness(init);
  Memory& m = harness.b().memory(1000, 1);
  const std::vector<Sge> five(5, m.sge(0, 1));
  EXPECT_FALSE(harness.b().post_send(harness.qb, five));
  EXPECT_FALSE(harness.b().post_recv(harness.qb, five));
  EXPECT_FALSE(post_read(harness.b(), harness.qb, {m.sge(0, 1), m.sge(1, 1)}, m));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(harness.b().post_send(harness.qb, {m.sge()}));
    EXPECT_TRUE(harness.b().post_recv(harness.qb, {m.sge()}));
  }
  EXPECT_FALSE(harness.b().post_send(harness.qb, {m.sge()}));
  EXPECT_FALSE(harness.b().post_recv(harness.qb, {m.sge()}));
  harness.sb().enter_error();
  harness.b().poll();
  EXPECT_EQ(harness.b().sent.size(), 2U);
  EXPECT_EQ(harness.b().received.size(), 2U);
  EXPECT_TRUE(harness.b().post_send(harness.qb, {m.sge()}));
  EXPECT_TRUE(harness.b().post_recv(harness.qb, {m.sge()}));
  harness.b().poll();
  EXPECT_EQ(harness.b().sent.back().status, WcStatus::kFlushed);
  EXPECT_EQ(harness.b().received.back().status, WcStatus::kFlushed);
  EXPECT_EQ(harness.b().received.size(), 3U);
}

TEST(StreamConnectTest, a_completion_queue_that_is_full_ends_the_stream) {
  StreamLine harness;
  harness.b().drains = false;
  Memory& from = harness.b().memory(10, 1);
  Memory& to = harness.a().memory(10);
  unsigned refused = 0;
  for (unsigned i = 0; i < 16'384 + 10; ++i) {
    while (!harness.b().post_write(harness.qb, {from.sge()}, to.start, to.handle)) {
      harness.pair.run_for(10us);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0U);
  EXPECT_TRUE(harness.pair.run_until([&] { return harness.sb().state() == QpState::kErr; }));
  EXPECT_GT(harness.count_b(StreamCounter::kCqOverflow), 0U);
}

}  // namespace splitnic::fabric::testing::stream_connect_test
