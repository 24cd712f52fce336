#include "fabric_emul/verbs/connection_manager.h"

#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"

namespace splitnic::fabric::testing::connection_manager_test {

using namespace std::chrono_literals;

// Records every call.
struct Recorder : ConnectionHandler {
  explicit Recorder(End& e) : end(e) { e.adapter->connections().set_handler(*this); }
  void on_link_up(Link&) override { ++ups; }
  void on_link_down(Link&, std::string_view) override { ++downs; }
  MgmtReject on_connect_request(ConnectionId id, Link& link, const Mgmt& request,
                                Mgmt& reply) override {
    ++requests;
    last = id;
    in_request.assign(request.private_data.begin(), request.private_data.end());
    if (refusal != MgmtReject::kNone) {
      reply.private_data = base::as_bytes("no");
      return refusal;
    }
    reply.pair_count = 1;
    const Qpn qpn = end.create_qp(QpInit{});
    reply.pairs[0] = end.adapter->describe(qpn, 0, 0);
    EXPECT_TRUE(end.adapter->connect_qp(reply.pairs[0], request.pairs[0], link));
    reply.private_data = base::as_bytes("welcome");
    return MgmtReject::kNone;
  }
  bool on_connected(ConnectionId id, Link& link, const Mgmt& reply) override {
    ++connected;
    last = id;
    in_reply.assign(reply.private_data.begin(), reply.private_data.end());
    if (!agrees) return false;
    return end.adapter->connect_qp(end.adapter->describe(own, 0, 0), reply.pairs[0], link)
        .has_value();
  }
  void on_rejected(ConnectionId, MgmtReject code, base::Bytes why) override {
    ++rejected;
    last_code = code;
    in_reply.assign(why.begin(), why.end());
    if (reconnects) connect();
  }
  void on_disconnected(ConnectionId, std::string_view) override {
    ++disconnected;
    if (destroys) end.adapter->destroy_qp(own, end.now());
    if (reconnects) connect();
  }
  ConnectionId connect() {
    own = end.create_qp(QpInit{});
    const std::array pairs{end.adapter->describe(own, 0, 0)};
    return end.adapter->connections().connect(end.link(), pairs, base::as_bytes("hello"),
                                              end.now());
  }

  End& end;
  Qpn own;
  ConnectionId last;
  MgmtReject refusal = MgmtReject::kNone, last_code = MgmtReject::kNone;
  bool agrees = true, reconnects = false, destroys = false;
  int ups = 0, downs = 0, requests = 0, connected = 0, rejected = 0, disconnected = 0;
  std::vector<std::byte> in_request, in_reply;
};

struct Two {
  Two() : a(pair.a()), b(pair.b()) {}
  std::size_t left() {
    return pair.a().adapter->connections().size() + pair.b().adapter->connections().size();
  }
  AdapterPair pair;
  Recorder a, b;
};

TEST(ConnectionManagerTest, X_46_request_reply_and_disconnect) {
  Two two;
  const ConnectionId id = two.b.connect();
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 1; }));
  EXPECT_EQ(two.a.last, id);
  EXPECT_EQ(two.b.last, id);
  EXPECT_EQ(base::as_text(two.a.in_request), "hello");
  EXPECT_EQ(base::as_text(two.b.in_reply), "welcome");
  two.pair.b().adapter->connections().disconnect(id, two.pair.now());
  ASSERT_TRUE(two.pair.run_until([&] { return two.left() == 0; }));
  EXPECT_EQ(two.a.disconnected, 1);
  EXPECT_EQ(two.b.disconnected, 0);
}

TEST(ConnectionManagerTest, X_46_the_passive_side_may_disconnect) {
  Two two;
  two.b.connect();
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 1; }));
  two.pair.a().adapter->connections().disconnect(two.a.last, two.pair.now());
  ASSERT_TRUE(two.pair.run_until([&] { return two.left() == 0; }));
  EXPECT_EQ(two.b.disconnected, 1);
  EXPECT_EQ(two.a.disconnected, 0);
}

TEST(ConnectionManagerTest, X_46_both_disconnect_at_once) {
  Two two;
  const ConnectionId id = two.b.connect();
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 1; }));
  two.pair.a().adapter->connections().disconnect(id, two.pair.now());
  two.pair.b().adapter->connections().disconnect(id, two.pair.now());
  ASSERT_TRUE(two.pair.run_until([&] { return two.left() == 0; }));
  EXPECT_EQ(two.a.disconnected + two.b.disconnected, 0);
}

TEST(ConnectionManagerTest, X_46_a_refusal_has_a_reason) {
  Two two;
  two.a.refusal = MgmtReject::kNoResources;
  two.b.connect();
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.rejected == 1; }));
  EXPECT_EQ(two.b.last_code, MgmtReject::kNoResources);
  EXPECT_EQ(base::as_text(two.b.in_reply), "no");
  EXPECT_EQ(two.left(), 0U);
}

TEST(ConnectionManagerTest, X_46_a_reply_that_does_not_fit_is_disconnected) {
  Two two;
  two.b.agrees = false;
  two.b.connect();
  ASSERT_TRUE(two.pair.run_until([&] { return two.left() == 0 && two.a.requests == 1; }));
  EXPECT_EQ(two.a.disconnected, 1);
  EXPECT_EQ(two.b.disconnected, 0);
}

TEST(ConnectionManagerTest, X_46_connects_through_losses_and_makes_each_connection_once) {
  Two two;
  FaultConfig faults;
  faults.loss_ppm = 300'000;
  faults.duplicate_ppm = 200'000;
  two.pair.a().faults.set_config(faults);
  two.pair.b().faults.set_config(faults);
  for (int i = 1; i <= 30; ++i) {
    const ConnectionId id = two.b.connect();
    ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == i; }, 60s));
    EXPECT_EQ(two.a.requests, i) << "a repeated request gets the same reply, and no second call";
    const QpState state = two.pair.b().qp(two.b.own).state();
    EXPECT_EQ(state, QpState::kRts);
    two.pair.b().adapter->connections().disconnect(id, two.pair.now());
    ASSERT_TRUE(
        two.pair.run_until([&] { return two.pair.b().adapter->connections().size() == 0; }, 60s));
  }
}

TEST(ConnectionManagerTest, X_46_a_disconnect_without_a_reply_gives_up) {
  Two two;
  const ConnectionId id = two.b.connect();
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 1; }));
  // Keep-alive passes, so the link stays up; cells do not.
  two.pair.a().faults.drop_received(
      [](base::Bytes datagram) { return datagram.size() > kFlitHeaderBytes; });
  two.pair.b().adapter->connections().disconnect(id, two.pair.now());
  const base::Time start = two.pair.now();
  ASSERT_TRUE(two.pair.run_until([&] { return two.pair.b().adapter->connections().size() == 0; }));
  EXPECT_LE(two.pair.now() - start, 2s);
  two.pair.b().adapter->connections().disconnect(id, two.pair.now());  // unknown: nothing
}

TEST(ConnectionManagerTest, X_46_a_disconnect_waits_for_a_link_that_is_down) {
  Two two;
  const ConnectionId id = two.b.connect();
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 1; }));
  two.pair.a().faults.set_cut(true);
  two.pair.run_for(2s);
  EXPECT_FALSE(two.pair.b().link().up());
  two.pair.b().adapter->connections().disconnect(id, two.pair.now());
  two.pair.run_for(10s);
  EXPECT_EQ(two.a.disconnected, 0);
  two.pair.a().faults.set_cut(false);
  ASSERT_TRUE(two.pair.run_until([&] { return two.left() == 0; }, 5s));
  EXPECT_EQ(two.a.disconnected, 1);
}

TEST(ConnectionManagerTest, X_46_a_request_waits_for_a_link_that_is_down) {
  Two two;
  two.pair.a().faults.set_cut(true);
  two.b.connect();
  two.pair.run_for(3s);
  EXPECT_EQ(two.b.downs, 1);
  two.pair.a().faults.set_cut(false);
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 1; }, 3s));
  EXPECT_EQ(two.a.requests, 1);
  EXPECT_LE(two.pair.idle_steps_with_past_deadline, 10);
}

// Handlers that act at once, from within the call.
TEST(ConnectionManagerTest, X_46_a_handler_may_connect_again_from_within) {
  Two two;
  two.b.reconnects = true;
  two.a.refusal = MgmtReject::kRefused;
  two.b.connect();
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.rejected == 3; }));
  two.a.refusal = MgmtReject::kNone;
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 1; }));
  two.pair.a().adapter->connections().disconnect(two.a.last, two.pair.now());
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 2; }));
  EXPECT_EQ(two.b.disconnected, 1);
}

// Data and the end of its connection come in one batch.
TEST(ConnectionManagerTest, X_46_a_handler_may_destroy_queue_pairs_from_within) {
  Two two;
  two.b.destroys = two.b.reconnects = true;
  two.b.connect();
  for (int i = 1; i <= 20; ++i) {
    ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == i; }));
    const Qpn a = two.pair.b().qp(two.b.own).attr().remote_qpn;
    Memory& text = two.pair.a().memory(100, 1);
    Memory& other = two.pair.b().memory(5000, 1);
    ASSERT_TRUE(two.pair.b().post_send(two.b.own, {other.sge()}));
    ASSERT_TRUE(two.pair.a().post_send(a, {text.sge()}));
    two.pair.a().adapter->connections().disconnect(two.a.last, two.pair.now());
    two.pair.a().adapter->transmit(two.pair.now());
  }
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 21; }));
  EXPECT_EQ(two.pair.b().adapter->qp_count(), 1U);
}

TEST(ConnectionManagerTest, F_48_cells_for_another_instance_are_dropped) {
  Two two;
  two.pair.b().tap.is_recording = true;
  const ConnectionId id = two.b.connect();
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 1; }));
  ASSERT_FALSE(two.pair.b().tap.cells.empty());
  auto request = two.pair.b().tap.cells.front();
  ASSERT_TRUE(request.sent);
  two.pair.b().adapter->connections().disconnect(id, two.pair.now());
  ASSERT_TRUE(two.pair.run_until([&] { return two.left() == 0; }));

  two.pair.in_process().endpoint(1).clear();
  two.pair.b().start();
  Recorder again(two.pair.b());
  ASSERT_TRUE(two.pair.run_until([&] { return again.ups == 1; }));
  two.pair.a().tap.inject(two.pair.address(1), request.bytes);
  two.pair.run_for(10ms);
  EXPECT_EQ(two.a.requests, 1);
  EXPECT_EQ(two.left(), 0U);
}

// A datagram may come late: behind the DISC of its connection, or first behind it.
TEST(ConnectionManagerTest, X_46_a_late_request_makes_no_connection_that_nobody_ends) {
  for (const bool is_first_lost : {false, true}) {
    Two two;
    two.pair.b().tap.is_recording = true;
    if (is_first_lost) {
      two.pair.a().faults.drop_received(
          [](base::Bytes datagram) { return datagram.size() > kFlitHeaderBytes; });
    }
    const ConnectionId id = two.b.connect();
    if (is_first_lost) {
      two.pair.run_for(10ms);
      two.pair.a().faults.drop_received({});
    } else {
      ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 1; }));
    }
    const int requests = two.a.requests;
    EXPECT_EQ(requests, is_first_lost ? 0 : 1);
    ASSERT_FALSE(two.pair.b().tap.cells.empty());
    const auto request = two.pair.b().tap.cells.front();
    ASSERT_TRUE(request.sent);
    two.pair.b().adapter->connections().disconnect(id, two.pair.now());
    ASSERT_TRUE(two.pair.run_until([&] { return two.left() == 0; }));
    two.pair.run_for(1s);
    two.pair.a().tap.inject(two.pair.address(1), request.bytes);
    two.pair.run_for(10ms);
    EXPECT_EQ(two.a.requests, requests);
    EXPECT_EQ(two.left(), 0U);
  }
}

// Neither CONNECT_REP nor DISC has reached it: its owner still waits for a reply.
TEST(ConnectionManagerTest, X_46_a_peer_that_got_no_disc_is_accepted_once_more) {
  Two two;
  two.pair.b().faults.drop_received([](base::Bytes datagram) {
    FlitView flit;
    return parse_flit(datagram, flit) == FlitError::kNone && flit.header.type == FlitType::kData;
  });
  two.b.connect();
  ASSERT_TRUE(two.pair.run_until([&] { return two.a.requests == 1; }));
  two.pair.a().adapter->connections().disconnect(two.a.last, two.pair.now());
  two.pair.run_for(2s);
  two.pair.b().faults.drop_received({});
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 1; }));
  EXPECT_EQ(two.a.requests, 2);
  EXPECT_EQ(two.b.disconnected, 0);
}

// A reply to a question for a switch, with the transaction of a request: with pairs as CONNECT_REP
// has them, and without.
TEST(ConnectionManagerTest, X_46_resolved_is_no_reply) {
  Two two;
  two.pair.a().faults.drop_received(
      [](base::Bytes datagram) { return datagram.size() > kFlitHeaderBytes; });
  const ConnectionId id = two.b.connect();
  two.pair.run_for(10ms);
  const Link& link = two.pair.b().link();
  Mgmt m;
  m.transaction = id.value;
  m.eui64 = link.peer_eui64();
  m.instance = link.peer_instance();
  m.peer_eui64 = link.local_eui64();
  m.peer_instance = link.local_instance();
  m.pairs[0] = two.pair.b().adapter->describe(two.b.own, 0, 0);
  m.pairs[0].mcp = 256;
  for (const MgmtKind kind : {MgmtKind::kResolve, MgmtKind::kResolved}) {
    for (const std::size_t pairs : {0U, 1U}) {
      m.kind = kind;
      m.pair_count = pairs;
      std::vector<std::byte> payload(m.bytes());
      emit_mgmt(payload, m);
      two.pair.b().tap.inject(two.pair.address(0), make_mgmt_cell_from_peer(link, payload));
      two.pair.run_for(10ms);
      EXPECT_EQ(two.b.connected + two.b.rejected, 0);
      EXPECT_EQ(two.pair.b().adapter->connections().size(), 1U);
    }
  }
  two.pair.a().faults.drop_received({});
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 1; }, 3s));
}

// The active side's process was taken for dead while another had its place, and is back.
TEST(ConnectionManagerTest, B_03_a_peer_that_was_taken_for_dead_is_notified_when_it_is_back) {
  Two two;
  two.b.connect();
  ASSERT_TRUE(two.pair.run_until([&] { return two.b.connected == 1; }));
  ConnectionManager& passive = two.pair.a().adapter->connections();
  passive.on_peer_restarted(two.pair.a().link());
  EXPECT_EQ(two.a.disconnected, 1);
  EXPECT_EQ(passive.size(), 0U);
  passive.on_link_up(two.pair.a().link(), two.pair.now());
  ASSERT_TRUE(two.pair.run_until([&] { return two.left() == 0; }));
  EXPECT_EQ(two.b.disconnected, 1);
  passive.on_link_up(two.pair.a().link(), two.pair.now());
  EXPECT_EQ(two.left(), 0U) << "once";
}

}  // namespace splitnic::fabric::testing::connection_manager_test
