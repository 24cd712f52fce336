// Queue pairs that are connected to others of the same adapter, and the number of queue pairs that
// RC needs.
#include <gtest/gtest.h>

#include "tests/support/mesh.h"

namespace splitnic::fabric::testing::loopback_test {

using namespace std::chrono_literals;

class LoopbackTest : public ::testing::Test {
 protected:
  LoopbackTest() : near_(node_.adapter.open_loopback(mesh_.now()).value()) {
    EXPECT_TRUE(mesh_.run_until([&] { return node_.up.size() == 2; }));
  }
  Qpn make(QpInit init) { return node_.adapter.create_qp(init, mesh_.now()).value(); }
  Qpn make(Service service = Service::kRc) { return make(node_.init(service)); }
  SendWr write(const std::vector<Sge>& from, const Memory& to) const {
    SendWr wr;
    wr.op = WrOp::kRdmaWrite;
    wr.gather = from;
    wr.remote_address = to.start;
    wr.remote_handle = to.handle;
    return wr;
  }

  Mesh mesh_{1};
  MeshNode& node_ = mesh_.node(0);
  Link* const near_;
};

TEST_F(LoopbackTest, S000_11_two_queue_pairs_of_one_adapter_are_connected) {
  for (const Service service : {Service::kRc, Service::kUc}) {
    const Qpn one = make(service);
    const Qpn other = make(service);
    ASSERT_TRUE(node_.adapter.connect_local(one, other));
    Memory& from = node_.memory(10'000, 3);
    Memory& to = node_.memory(10'000);
    ASSERT_TRUE(node_.adapter.post_recv(other, RecvWr{.wr_id = 7, .scatter = {}}));
    const std::vector<Sge> pieces{from.sge()};
    SendWr wr = write(pieces, to);
    wr.idata = 11;
    node_.sent.clear();
    node_.received.clear();
    ASSERT_TRUE(node_.adapter.post_send(one, wr));
    ASSERT_TRUE(mesh_.run_until([&] { return !node_.received.empty() && !node_.sent.empty(); }));
    EXPECT_EQ(node_.sent[0].status, WcStatus::kSuccess);
    EXPECT_EQ(node_.sent[0].qpn, one);
    EXPECT_EQ(node_.received[0].qpn, other);
    EXPECT_EQ(node_.received[0].idata, 11U);
    EXPECT_EQ(to.bytes, from.bytes);
    // And back.
    ASSERT_TRUE(node_.adapter.post_recv(one, RecvWr{.wr_id = 8, .scatter = {}}));
    ASSERT_TRUE(node_.adapter.post_send(other, SendWr{}));
    EXPECT_TRUE(
        mesh_.run_until([&] { return node_.received.size() == 2 && node_.sent.size() == 2; }));
  }
}

TEST_F(LoopbackTest, S000_11_the_checks_are_those_of_any_other_peer) {
  const Qpn one = make();
  const Qpn other = make();
  ASSERT_TRUE(node_.adapter.connect_local(one, other));
  Memory& from = node_.memory(100, 3);
  Memory& to = node_.memory(99);
  const std::vector<Sge> pieces{from.sge()};
  ASSERT_TRUE(node_.adapter.post_send(one, write(pieces, to)));
  ASSERT_TRUE(mesh_.run_until([&] { return !node_.sent.empty(); }));
  EXPECT_EQ(node_.sent[0].status, WcStatus::kRemoteAccess);
  EXPECT_TRUE(to.is_zero());
  EXPECT_EQ(node_.adapter.find_qp(one)->state(), QpState::kErr);
  EXPECT_EQ(node_.adapter.find_qp(other)->state(), QpState::kErr);
}

TEST_F(LoopbackTest, S000_11_a_queue_pair_is_bound_to_exactly_one_other) {
  const Qpn one = make();
  const Qpn other = make();
  const Qpn third = make();
  EXPECT_FALSE(node_.adapter.connect_local(one, one));
  EXPECT_FALSE(node_.adapter.connect_local(one, make(Service::kUc)));
  EXPECT_FALSE(node_.adapter.connect_local(one, Qpn(5)));
  EXPECT_EQ(node_.adapter.find_qp(one)->state(), QpState::kReset);
  ASSERT_TRUE(node_.adapter.connect_local(one, other));
  EXPECT_FALSE(node_.adapter.connect_local(one, third));
  EXPECT_FALSE(node_.adapter.connect_local(third, other));
  EXPECT_EQ(node_.adapter.find_qp(third)->state(), QpState::kReset);
}

TEST_F(LoopbackTest, S000_11_the_connection_manager_connects_them_too) {
  const Qpn one = make();
  Qpn other{};
  node_.accept = [&](MeshNode& n, Link& link, const Mgmt& request, Mgmt& reply) {
    EXPECT_NE(&link, near_);
    other = make();
    reply.pair_count = 1;
    reply.pairs[0] = n.adapter.describe(other, 0, 0);
    reply.pairs[0].peer_qpn = request.pairs[0].qpn;
    return n.adapter.connect_qp(reply.pairs[0], request.pairs[0], link) ? MgmtReject::kNone
                                                                        : MgmtReject::kBadParameter;
  };
  bool is_connected = false;
  node_.connected = [&](MeshNode& n, Link& link, const Mgmt& reply) {
    EXPECT_EQ(&link, near_);
    is_connected =
        n.adapter.connect_qp(n.adapter.describe(one, 0, 0), reply.pairs[0], link).has_value();
    return is_connected;
  };
  const MgmtPair pair = node_.adapter.describe(one, 0, 0);
  const ConnectionId id = node_.adapter.connections().connect(*near_, {&pair, 1}, {}, mesh_.now());
  ASSERT_TRUE(mesh_.run_until([&] { return is_connected; }));
  EXPECT_EQ(node_.adapter.connections().size(), 2U) << "both sides";
  Memory& from = node_.memory(5000, 3);
  Memory& to = node_.memory(5000);
  const std::vector<Sge> pieces{from.sge()};
  ASSERT_TRUE(node_.adapter.post_send(one, write(pieces, to)));
  ASSERT_TRUE(mesh_.run_until([&] { return !node_.sent.empty(); }));
  EXPECT_EQ(to.bytes, from.bytes);
  EXPECT_EQ(node_.adapter.find_qp(other)->state(), QpState::kRts);

  node_.adapter.connections().disconnect(id, mesh_.now());
  ASSERT_TRUE(mesh_.run_until([&] { return node_.adapter.connections().size() == 0; }, 2s));
  EXPECT_EQ(node_.ended, std::vector{id}) << "the passive side is notified, once";
}

TEST(LoopbackStartTest, S000_11_without_a_loopback_nothing_is_connected) {
  Mesh mesh(1);
  Adapter& adapter = mesh.node(0).adapter;
  const Qpn one = adapter.create_qp(mesh.node(0).init(Service::kRc), mesh.now()).value();
  const Qpn other = adapter.create_qp(mesh.node(0).init(Service::kRc), mesh.now()).value();
  EXPECT_FALSE(adapter.connect_local(one, other));
  const Link* near = adapter.open_loopback(mesh.now()).value();
  EXPECT_FALSE(adapter.connect_local(one, other)) << "it is not up yet";
  EXPECT_EQ(adapter.open_loopback(mesh.now()).value(), near);
  ASSERT_TRUE(mesh.run_until([&] { return mesh.node(0).up.size() == 2; }));
  EXPECT_TRUE(adapter.connect_local(one, other));
}

// All-to-all of N nodes with M processes: M^2 x (N - 1) queue pairs per node.
TEST(LoopbackStartTest, S000_11_all_to_all_needs_a_queue_pair_per_pair_of_processes) {
  constexpr std::size_t kNodes = 3;
  constexpr std::size_t kProcesses = 2;
  Mesh mesh(kNodes);
  for (std::size_t i = 0; i < kNodes; ++i) {
    for (std::size_t j = i + 1; j < kNodes; ++j) {
      for (std::size_t pair = 0; pair < kProcesses * kProcesses; ++pair) {
        MeshNode& a = mesh.node(i);
        MeshNode& b = mesh.node(j);
        const Qpn one = a.adapter.create_qp(a.init(Service::kRc), mesh.now()).value();
        const Qpn other = b.adapter.create_qp(b.init(Service::kRc), mesh.now()).value();
        const MgmtPair here = a.adapter.describe(one, 0, 0);
        const MgmtPair there = b.adapter.describe(other, 0, 0);
        ASSERT_TRUE(a.adapter.connect_qp(here, there, *a.links[j]));
        ASSERT_TRUE(b.adapter.connect_qp(there, here, *b.links[i]));
        ASSERT_TRUE(b.adapter.post_recv(other, RecvWr{}));
        ASSERT_TRUE(a.adapter.post_send(one, SendWr{}));
      }
    }
  }
  ASSERT_TRUE(mesh.run_until([&] {
    return mesh.node(2).received.size() == 2 * kProcesses * kProcesses &&
           mesh.node(1).received.size() == kProcesses * kProcesses;
  }));
  for (std::size_t i = 0; i < kNodes; ++i) {
    EXPECT_EQ(mesh.node(i).adapter.qp_count(), kProcesses * kProcesses * (kNodes - 1));
  }
}

}  // namespace splitnic::fabric::testing::loopback_test
