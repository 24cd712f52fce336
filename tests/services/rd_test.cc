// RD between nodes: every queue pair reaches every other over the one context of its pair of nodes.
#include <gtest/gtest.h>

#include <set>

#include "tests/services/rd_fixture.h"

namespace splitnic::fabric::testing::rd_test {

using namespace std::chrono_literals;

SendWr rdma(WrOp op, const Memory& to) {
  SendWr wr;
  wr.op = op;
  wr.remote_address = to.start;
  wr.remote_handle = to.handle;
  return wr;
}

TEST(RdTest, S000_12_a_message_arrives_and_its_sender_is_known) {
  RdMesh mesh(2);
  const Qpn from = mesh.make(0);
  const Qpn to = mesh.make(1);
  Memory& message = mesh.node(0).memory(100, 3);
  Memory& room = mesh.node(1).memory(200);
  ASSERT_TRUE(mesh.node(1).adapter.post_recv(to, RecvWr{7, std::array{room.sge()}}));
  SendWr wr;
  wr.idata = 5;
  wr.wr_id = 9;
  ASSERT_TRUE(mesh.send(0, from, 1, to, {message.sge()}, wr));
  ASSERT_TRUE(mesh.run_until([&] { return !mesh.node(0).sent.empty(); }));
  EXPECT_EQ(mesh.node(0).sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(mesh.node(0).sent[0].wr_id, 9U);
  ASSERT_EQ(mesh.node(1).received.size(), 1U);
  const Wc& wc = mesh.node(1).received[0];
  EXPECT_EQ(wc.wr_id, 7U);
  EXPECT_EQ(wc.bytes, 100U);
  EXPECT_EQ(wc.idata, 5U);
  EXPECT_EQ(wc.source_qpn, from);
  EXPECT_EQ(wc.source_ee, mesh.ee(1, 0)) << "where a reply goes";
  EXPECT_TRUE(std::equal(message.bytes.begin(), message.bytes.end(), room.bytes.begin()));
}

TEST(RdTest, S000_12_S001_54_writes_reads_and_fetchops_are_those_of_rc) {
  RdMesh mesh(2);
  const Qpn from = mesh.make(0);
  const Qpn to = mesh.make(1);
  Memory& mine = mesh.node(0).memory(64, 3);
  Memory& back = mesh.node(0).memory(64);
  Memory& theirs = mesh.node(1).memory(64);
  auto& sent = mesh.node(0).sent;
  ASSERT_TRUE(mesh.send(0, from, 1, to, {mine.sge()}, rdma(WrOp::kRdmaWrite, theirs)));
  ASSERT_TRUE(mesh.send(0, from, 1, to, {back.sge()}, rdma(WrOp::kRdmaRead, theirs)));
  ASSERT_TRUE(mesh.run_until([&] { return sent.size() == 2; }));
  EXPECT_EQ(sent[1].status, WcStatus::kSuccess);
  EXPECT_EQ(sent[1].bytes, 64U);
  EXPECT_EQ(theirs.bytes, mine.bytes);
  EXPECT_EQ(back.bytes, mine.bytes);
  std::uint64_t word = 40;
  std::memcpy(theirs.bytes.data(), &word, 8);
  SendWr wr = rdma(WrOp::kFetchOp, theirs);
  wr.fetch_op = {.op = FetchOp::kFetchAdd, .operand1 = 2};
  ASSERT_TRUE(mesh.send(0, from, 1, to, {back.sge(0, 8)}, wr));
  ASSERT_TRUE(mesh.run_until([&] { return sent.size() == 3; }));
  std::memcpy(&word, back.bytes.data(), 8);
  EXPECT_EQ(word, 40U);
  std::memcpy(&word, theirs.bytes.data(), 8);
  EXPECT_EQ(word, 42U);
}

// Three nodes with two processes each, all-to-all: each message arrives once and in the order of
// its sender, with N - 1 contexts and M queue pairs per node.
TEST(RdTest, S000_12_three_nodes_with_two_processes_each_all_to_all_under_loss) {
  constexpr std::size_t kNodes = 3;
  constexpr std::size_t kProcesses = 2;
  constexpr std::uint32_t kMessages = 30;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    RdMesh mesh(kNodes);
    std::map<std::pair<std::size_t, std::size_t>, Qpn> qps;
    for (std::size_t n = 0; n < kNodes; ++n) {
      mesh.node(n).random = base::SeededRandom(100 * seed + n);
      for (std::size_t p = 0; p < kProcesses; ++p) qps[{n, p}] = mesh.make(n);
    }
    FaultConfig faults;
    faults.loss_ppm = 50'000;
    faults.duplicate_ppm = 50'000;
    faults.reorder_ppm = 50'000;
    mesh.set_faults(faults);
    const std::size_t per_qp = (kNodes - 1) * kProcesses * kMessages;
    for (const auto& [at, qpn] : qps) {
      // Some receives come late: nobody waits for the others' sake.
      for (std::size_t i = 0; i < per_qp / 2; ++i) {
        ASSERT_TRUE(mesh.node(at.first).adapter.post_recv(qpn, RecvWr{}));
      }
    }
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      for (const auto& [from, source] : qps) {
        for (const auto& [to, destination] : qps) {
          if (from.first == to.first) continue;
          SendWr wr;
          wr.idata = i;
          ASSERT_TRUE(mesh.send(from.first, source, to.first, destination, {}, wr));
        }
      }
    }
    mesh.run_for(20ms);
    for (const auto& [at, qpn] : qps) {
      for (std::size_t i = 0; i < per_qp / 2; ++i) {
        ASSERT_TRUE(mesh.node(at.first).adapter.post_recv(qpn, RecvWr{}));
      }
    }
    ASSERT_TRUE(mesh.run_until([&] {
      for (std::size_t n = 0; n < kNodes; ++n) {
        if (mesh.node(n).sent.size() < kProcesses * per_qp) return false;
      }
      return true;
    }));
    std::uint64_t repeated = 0;
    for (std::size_t n = 0; n < kNodes; ++n) {
      MeshNode& node = mesh.node(n);
      EXPECT_EQ(node.adapter.contexts().size(), kNodes - 1);
      EXPECT_EQ(node.adapter.qp_count(), kProcesses);
      for (const Wc& wc : node.sent) ASSERT_EQ(wc.status, WcStatus::kSuccess);
      ASSERT_EQ(node.received.size(), kProcesses * per_qp);
      std::map<std::pair<Qpn, std::pair<EeId, Qpn>>, std::uint32_t> next;
      for (const Wc& wc : node.received) {
        ASSERT_EQ(wc.idata, (next[{wc.qpn, {wc.source_ee, wc.source_qpn}}]++));
      }
      repeated += mesh.count(n, TransportCounter::kTxRetransmit);
    }
    EXPECT_GT(repeated, 0U);
  }
}

TEST(RdTest, S000_12_the_window_of_a_context_is_shared_and_bounded) {
  RdMesh mesh(2);
  Memory& to = mesh.node(1).memory(64);
  Memory& from = mesh.node(0).memory(64, 3);
  const Qpn target = mesh.make(1);
  mesh.node(1).faults.set_config({.loss_ppm = 1'000'000});  // nothing arrives, so no reply comes
  constexpr std::size_t kQps = kEeWindow + 10;
  for (std::size_t i = 0; i < kQps; ++i) {
    const Qpn qpn = mesh.make(0);
    for (int repeat = 0; repeat < 2; ++repeat) {
      ASSERT_TRUE(mesh.send(0, qpn, 1, target, {from.sge()}, rdma(WrOp::kRdmaWrite, to)));
    }
  }
  mesh.run_for(5ms);
  EXPECT_EQ(mesh.context(0, 1).in_flight(), kEeWindow);
  mesh.node(1).faults.set_config({});
  ASSERT_TRUE(mesh.run_until([&] { return mesh.node(0).sent.size() == 2 * kQps; }));
  EXPECT_EQ(mesh.context(0, 1).in_flight(), 0U);
  EXPECT_EQ(to.bytes, from.bytes);
}

// The receiver has no receive posted: only that message waits.
TEST(RdTest, S000_12_a_queue_pair_without_receives_delays_no_other) {
  RdMesh mesh(2);
  const Qpn slow = mesh.make(1);
  const Qpn quick = mesh.make(1);
  const Qpn one = mesh.make(0);
  const Qpn other = mesh.make(0);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(mesh.node(1).adapter.post_recv(quick, RecvWr{}));
  ASSERT_TRUE(mesh.send(0, one, 1, slow, {}));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(mesh.send(0, other, 1, quick, {}));
  ASSERT_TRUE(mesh.run_until([&] { return mesh.node(0).sent.size() == 20; }, 100ms));
  EXPECT_GT(mesh.count(0, TransportCounter::kRnrSeen), 0U);
  for (const Wc& wc : mesh.node(0).sent) EXPECT_EQ(wc.qpn, other);
  ASSERT_TRUE(mesh.node(1).adapter.post_recv(slow, RecvWr{}));
  ASSERT_TRUE(mesh.run_until([&] { return mesh.node(0).sent.size() == 21; }));
  EXPECT_EQ(mesh.node(0).sent.back().status, WcStatus::kSuccess);
}

TEST(RdTest, S000_12_a_limit_of_waits_for_receives_is_kept) {
  RdMesh mesh(2);
  QpInit init = mesh.node(0).init(Service::kRd);
  init.rnr_retry = 3;
  const Qpn from = mesh.make(0, init);
  const Qpn to = mesh.make(1);
  ASSERT_TRUE(mesh.send(0, from, 1, to, {}));
  ASSERT_TRUE(mesh.run_until([&] { return !mesh.node(0).sent.empty(); }));
  EXPECT_EQ(mesh.node(0).sent[0].status, WcStatus::kRnrRetryExceeded);
  EXPECT_EQ(mesh.count(0, TransportCounter::kRnrSeen), 4U);
}

// An error of one queue pair is its own: the context and the others continue.
TEST(RdTest, S000_12_an_error_ends_one_send_queue_and_nothing_else) {
  struct Wrong {
    Qpn destination;
    bool has_wrong_key;
    WcStatus status;
  };
  RdMesh mesh(2);
  const Qpn to = mesh.make(1);
  Memory& from = mesh.node(0).memory(64, 3);
  Memory& theirs = mesh.node(1).memory(64);
  Memory& good = mesh.node(1).memory(64);
  const Qpn other = mesh.make(0);
  for (const Wrong& wrong : {Wrong{to, true, WcStatus::kRemoteAccess},
                             Wrong{Qpn(0xABCDEF), false, WcStatus::kRemoteInvalid}}) {
    mesh.node(0).sent.clear();
    const Qpn qpn = mesh.make(0);
    SendWr wr = rdma(WrOp::kRdmaWrite, theirs);
    if (wrong.has_wrong_key) wr.remote_handle = MemoryHandle(theirs.handle.value + 1);
    ASSERT_TRUE(mesh.send(0, qpn, 1, wrong.destination, {from.sge()}, wr));
    ASSERT_TRUE(mesh.send(0, qpn, 1, to, {from.sge()}, rdma(WrOp::kRdmaWrite, theirs)));
    ASSERT_TRUE(mesh.run_until([&] { return mesh.node(0).sent.size() == 2; }));
    EXPECT_EQ(mesh.node(0).sent[0].status, wrong.status);
    EXPECT_EQ(mesh.node(0).sent[1].status, WcStatus::kFlushed);
    EXPECT_TRUE(theirs.is_zero());
    EXPECT_EQ(mesh.state(0, qpn), QpState::kSqe);
    EXPECT_EQ(mesh.state(1, to), QpState::kRts) << "the destination continues";
    ASSERT_TRUE(mesh.send(0, other, 1, to, {from.sge()}, rdma(WrOp::kRdmaWrite, good)));
    ASSERT_TRUE(mesh.run_until([&] { return mesh.node(0).sent.size() == 3; }));
    EXPECT_EQ(mesh.node(0).sent[2].status, WcStatus::kSuccess);
    // Its owner may continue.
    ASSERT_TRUE(mesh.node(0).adapter.modify_qp(qpn, QpState::kRts, 0, {}));
    ASSERT_TRUE(mesh.send(0, qpn, 1, to, {from.sge()}, rdma(WrOp::kRdmaWrite, good)));
    ASSERT_TRUE(mesh.run_until([&] { return mesh.node(0).sent.size() == 4; }));
    EXPECT_EQ(mesh.node(0).sent[3].status, WcStatus::kSuccess);
  }
}

// The place of a message in the order stays when its queue pair goes.
TEST(RdTest, S000_12_a_queue_pair_that_is_destroyed_in_flight_holds_nobody_up) {
  RdMesh mesh(2);
  const Qpn to = mesh.make(1);
  const Qpn gone = mesh.make(0);
  const Qpn stays = mesh.make(0);
  Memory& from = mesh.node(0).memory(64, 3);
  Memory& theirs = mesh.node(1).memory(64);
  Memory& good = mesh.node(1).memory(64);
  mesh.node(1).faults.set_config({.loss_ppm = 1'000'000});  // of what comes in
  ASSERT_TRUE(mesh.send(0, gone, 1, to, {from.sge()}, rdma(WrOp::kRdmaWrite, theirs)));
  mesh.run_for(1ms);
  ASSERT_TRUE(mesh.send(0, stays, 1, to, {from.sge()}, rdma(WrOp::kRdmaWrite, good)));
  mesh.run_for(1ms);
  EXPECT_EQ(mesh.context(0, 1).in_flight(), 2U);
  mesh.node(0).adapter.destroy_qp(gone, mesh.now());
  mesh.node(1).faults.set_config({});
  ASSERT_TRUE(mesh.run_until([&] { return !mesh.node(0).sent.empty(); }));
  EXPECT_EQ(mesh.node(0).sent[0].qpn, stays);
  EXPECT_EQ(mesh.node(0).sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(good.bytes, from.bytes);
  EXPECT_TRUE(theirs.is_zero());
  EXPECT_EQ(mesh.context(0, 1).in_flight(), 0U);
}

// A lost reply: the request comes once more and gets the result that is kept.
TEST(RdTest, S000_12_a_repeated_fetchop_is_executed_once) {
  RdMesh mesh(2);
  const Qpn from = mesh.make(0);
  const Qpn to = mesh.make(1);
  Memory& back = mesh.node(0).memory(8);
  Memory& theirs = mesh.node(1).memory(8);
  std::uint64_t word = 40;
  std::memcpy(theirs.bytes.data(), &word, 8);
  mesh.node(0).faults.set_config({.loss_ppm = 1'000'000});
  SendWr wr = rdma(WrOp::kFetchOp, theirs);
  wr.fetch_op = {.op = FetchOp::kFetchAdd, .operand1 = 2};
  ASSERT_TRUE(mesh.send(0, from, 1, to, {back.sge()}, wr));
  mesh.run_for(1ms);
  mesh.node(0).faults.set_config({});
  ASSERT_TRUE(mesh.run_until([&] { return !mesh.node(0).sent.empty(); }));
  EXPECT_GT(mesh.count(1, TransportCounter::kRxDuplicate), 0U);
  std::memcpy(&word, back.bytes.data(), 8);
  EXPECT_EQ(word, 40U);
  std::memcpy(&word, theirs.bytes.data(), 8);
  EXPECT_EQ(word, 42U);
}

TEST(RdTest, S000_12_a_node_that_is_gone_ends_the_context_and_its_messages) {
  EeInit init;
  init.stall_min = 100ms;
  init.retry_count = 2;
  RdMesh mesh(3, init);
  const Qpn from = mesh.make(0);
  const Qpn far = mesh.make(1);
  const Qpn near = mesh.make(2);
  ASSERT_TRUE(mesh.node(2).adapter.post_recv(near, RecvWr{}));
  mesh.node(1).faults.set_config({.loss_ppm = 1'000'000});
  ASSERT_TRUE(mesh.send(0, from, 1, far, {}));
  ASSERT_TRUE(mesh.send(0, from, 1, far, {}));
  ASSERT_TRUE(mesh.run_until([&] { return mesh.node(0).sent.size() == 2; }));
  EXPECT_EQ(mesh.node(0).sent[0].status, WcStatus::kRetryExceeded);
  EXPECT_EQ(mesh.node(0).sent[1].status, WcStatus::kFlushed);
  EXPECT_EQ(mesh.context(0, 1).state(), EeContext::State::kEnded);
  EXPECT_EQ(mesh.count(0, TransportCounter::kEeErrors), 1U);
  ASSERT_TRUE(mesh.node(0).adapter.modify_qp(from, QpState::kRts, 0, {}));
  EXPECT_FALSE(mesh.send(0, from, 1, far, {})) << "no way leads there any more";
  ASSERT_TRUE(mesh.send(0, from, 2, near, {}));
  ASSERT_TRUE(mesh.run_until([&] { return mesh.node(0).sent.size() == 3; }));
  EXPECT_EQ(mesh.node(0).sent[2].status, WcStatus::kSuccess);
}

TEST(RdTest, S000_12_what_a_context_cannot_be_is_refused) {
  RdMesh mesh(2);
  Adapter& adapter = mesh.node(0).adapter;
  const std::size_t before = adapter.contexts().size();
  EXPECT_FALSE(adapter.contexts().create({.partition = PartitionKey(0x8005)}));
  EXPECT_FALSE(adapter.contexts().create({.sl = kSlMax + 1}));
  EXPECT_FALSE(adapter.contexts().create({.mcp = 30}));
  EXPECT_EQ(adapter.contexts().size(), before);
  const MgmtPair mine = adapter.contexts().describe(mesh.ee(0, 1), 0);
  MgmtPair theirs = mine;
  Link& link = *mesh.node(0).links[1];
  EXPECT_FALSE(adapter.contexts().connect(mine, theirs, link)) << "it is connected";
  const MgmtPair fresh = adapter.contexts().describe(adapter.contexts().create({}).value(), 0);
  theirs.service = Service::kRc;
  EXPECT_FALSE(adapter.contexts().connect(fresh, theirs, link)) << "a queue pair";
  theirs.service = Service::kRd;
  theirs.qpn = Qpn();
  EXPECT_FALSE(adapter.contexts().connect(fresh, theirs, link));
  theirs.qpn = Qpn(5);
  EXPECT_TRUE(adapter.contexts().connect(fresh, theirs, link));
}

TEST(RdTest, S000_12_posts_that_lead_nowhere_are_refused) {
  RdMesh mesh(2);
  const Qpn from = mesh.make(0);
  const Qpn to = mesh.make(1);
  Memory& large = mesh.node(0).memory(100'000);
  EXPECT_FALSE(mesh.send(0, from, 1, Qpn(), {})) << "no destination";
  EXPECT_FALSE(mesh.send(0, from, 1, to, {large.sge()})) << "longer than a cell";
  SendWr wr;
  wr.destination_qpn = to;
  EXPECT_FALSE(mesh.node(0).adapter.post_send(from, wr)) << "no context";
  wr.destination_ee = mesh.node(0).adapter.contexts().create({}).value();
  EXPECT_FALSE(mesh.node(0).adapter.post_send(from, wr)) << "it is not connected";
  mesh.run_for(1ms);
  EXPECT_TRUE(mesh.node(0).sent.empty());
}

}  // namespace splitnic::fabric::testing::rd_test
