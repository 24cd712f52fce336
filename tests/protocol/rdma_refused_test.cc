// A queue pair that takes no RDMA refuses reads and FetchOps as it refuses writes, whatever keys
// the peer has and however many responses it could keep. An adapter that takes none makes all of
// its queue pairs such.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::rdma_refused_test {

using namespace std::chrono_literals;

PairOptions without_rdma() {
  PairOptions options;
  options.limits.accepts_rdma = false;
  return options;
}

class RdmaRefusedTest : public ::testing::Test {
 protected:
  explicit RdmaRefusedTest(const PairOptions& options = {},
                           const QpInit& init = {.accepts_rdma = false})
      : pair_(options) {
    QpAttr attr;
    attr.max_dest_rd_atomic = 4;
    attr.max_rd_atomic = 4;
    qp_ = pair_.connect_by_hand(init, attr);
    before_ = there_.bytes;
  }
  // The request that end b posted is refused, and nothing crossed in either direction.
  void expect_refused() {
    ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
    EXPECT_EQ(pair_.b().sent[0].status, WcStatus::kRemoteInvalid);
    EXPECT_TRUE(into_.is_zero()) << "nothing was disclosed";
    EXPECT_EQ(there_.bytes, before_) << "nothing was changed";
    EXPECT_EQ(pair_.a().qp(qp_.a).state(), QpState::kErr);
    EXPECT_EQ(pair_.b().qp(qp_.b).state(), QpState::kErr);
    EXPECT_EQ(pair_.a().count(TransportCounter::kTxNaks), 1U);
  }
  void expect_read_refused() {
    ASSERT_TRUE(post_read(pair_.b(), qp_.b, {into_.sge(0, 100)}, there_));
    expect_refused();
  }
  void expect_fetch_op_refused() {
    const AtomicExt fetch{.op = FetchOp::kSwap, .operand1 = 1};
    ASSERT_TRUE(post_fetch(pair_.b(), qp_.b, into_, fetch, there_.start, there_.handle));
    expect_refused();
  }
  void expect_write_refused() {
    into_.fill(5);
    ASSERT_TRUE(pair_.b().post_write(qp_.b, {into_.sge()}, there_.start, there_.handle));
    ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
    into_.clear();
    expect_refused();
  }

  AdapterPair pair_;
  QpPair qp_;
  Memory& there_ = pair_.a().memory(4096, 3);
  Memory& into_ = pair_.b().memory(4096);
  std::vector<std::byte> before_;
};

TEST_F(RdmaRefusedTest, S000_01_a_read_is_refused) { expect_read_refused(); }

TEST_F(RdmaRefusedTest, S000_01_every_fetch_op_is_refused) { expect_fetch_op_refused(); }

TEST_F(RdmaRefusedTest, S000_01_a_write_is_refused) { expect_write_refused(); }

// The same requests pass where RDMA is taken: the refusals above are not those of something else.
TEST_F(RdmaRefusedTest, S000_01_another_queue_pair_of_the_adapter_takes_them) {
  const QpPair open = pair_.connect(reading(4));
  ASSERT_TRUE(post_read(pair_.b(), open.b, {into_.sge(0, 100)}, there_));
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
  EXPECT_EQ(pair_.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_TRUE(std::equal(into_.bytes.begin(), into_.bytes.begin() + 100, there_.bytes.begin()));
}

// Both adapters take no RDMA, and the queue pairs would.
class RdmaRefusedByAdapterTest : public RdmaRefusedTest {
 protected:
  RdmaRefusedByAdapterTest() : RdmaRefusedTest(without_rdma(), {.accepts_rdma = true}) {}
};

TEST_F(RdmaRefusedByAdapterTest, S000_01_a_read_is_refused) { expect_read_refused(); }

TEST_F(RdmaRefusedByAdapterTest, S000_01_every_fetch_op_is_refused) { expect_fetch_op_refused(); }

TEST_F(RdmaRefusedByAdapterTest, S000_01_a_write_is_refused) { expect_write_refused(); }

TEST_F(RdmaRefusedByAdapterTest, S000_01_sends_go_both_ways) {
  End& a = pair_.a();
  End& b = pair_.b();
  Memory& text = b.memory(300, 7);
  Memory& room = a.memory(300);
  ASSERT_TRUE(a.post_recv(qp_.a, {room.sge()}));
  ASSERT_TRUE(b.post_send(qp_.b, {text.sge()}));
  ASSERT_TRUE(pair_.run_until([&] { return !b.sent.empty(); }));
  EXPECT_EQ(room.bytes, text.bytes);
  text.clear();
  ASSERT_TRUE(b.post_recv(qp_.b, {text.sge()}));
  ASSERT_TRUE(a.post_send(qp_.a, {room.sge()}));
  ASSERT_TRUE(pair_.run_until([&] { return !a.sent.empty(); }));
  EXPECT_EQ(room.bytes, text.bytes);
  EXPECT_EQ(a.sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(b.sent[0].status, WcStatus::kSuccess);
}

// Unconnected queue pairs have the option of RDMA; there it is dropped, and the queue pair stays.
TEST_F(RdmaRefusedByAdapterTest, S000_01_a_datagram_write_is_dropped) {
  QpInit init;
  init.has_datagram_rdma = true;
  const Qpn from = pair_.make_ud(pair_.b(), init);
  const Qpn to = pair_.make_ud(pair_.a(), init);
  into_.fill(5);
  const std::vector<Sge> gather{into_.sge(0, 64)};
  SendWr wr;
  wr.op = WrOp::kRdmaWrite;
  wr.gather = gather;
  wr.remote_address = there_.start;
  wr.remote_handle = there_.handle;
  wr.destination_lid = pair_.b().link().remote_lid();
  wr.destination_qpn = to;
  ASSERT_TRUE(pair_.b().adapter->post_send(from, wr));
  pair_.run_for(1ms);
  EXPECT_EQ(there_.bytes, before_);
  EXPECT_EQ(pair_.a().count(TransportCounter::kDropAccess), 1U);
  EXPECT_EQ(pair_.a().qp(to).state(), QpState::kRts);
}

TEST_F(RdmaRefusedByAdapterTest, S000_01_a_stream_whose_peer_may_write_is_not_created) {
  StreamInit init;
  init.common.pd = pair_.a().pd;
  init.common.send_cq = pair_.a().send_cq;
  init.common.recv_cq = pair_.a().recv_cq;
  const auto refused = pair_.a().adapter->create_stream(init, pair_.now());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "this adapter accepts no RDMA: create a STREAM of another kind");
  init.kind = StreamKind::kPlain;
  EXPECT_TRUE(pair_.a().adapter->create_stream(init, pair_.now()));
}

// One that takes no RDMA may still write to its peer and read from it.
TEST(RdmaOneWayTest, S000_01_an_adapter_that_takes_no_rdma_may_use_it) {
  InProcessCarrier carrier({}, 2);
  End open(0, carrier, {});
  End closed(1, carrier, without_rdma());
  const auto run_until = [&](auto done) {
    for (int i = 0; i < 100'000 && !done(); ++i) {
      open.poll();
      closed.poll();
      carrier.after_step();
    }
    return done();
  };
  ASSERT_TRUE(run_until([&] { return !open.links.empty() && !closed.links.empty(); }));
  const Qpn there = open.create_qp(reading(4));
  const Qpn here = closed.create_qp(reading(4));
  const MgmtPair of_open = open.adapter->describe(there, 0, 0);
  const MgmtPair of_closed = closed.adapter->describe(here, 0, 0);
  ASSERT_TRUE(open.adapter->connect_qp(of_open, of_closed, open.link()));
  ASSERT_TRUE(closed.adapter->connect_qp(of_closed, of_open, closed.link()));
  Memory& remote = open.memory(4000);
  Memory& mine = closed.memory(4000, 9);
  Memory& copy = closed.memory(4000);
  ASSERT_TRUE(closed.post_write(here, {mine.sge()}, remote.start, remote.handle));
  ASSERT_TRUE(run_until([&] { return closed.sent.size() == 1; }));
  ASSERT_TRUE(post_read(closed, here, {copy.sge()}, remote));
  ASSERT_TRUE(run_until([&] { return closed.sent.size() == 2; }));
  for (const Wc& wc : closed.sent) EXPECT_EQ(wc.status, WcStatus::kSuccess);
  EXPECT_EQ(remote.bytes, mine.bytes);
  EXPECT_EQ(copy.bytes, mine.bytes);
}

}  // namespace splitnic::fabric::testing::rdma_refused_test
