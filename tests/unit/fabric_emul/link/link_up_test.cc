// INIT: coming up, restarts, challenges, refusals, keep-alive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "link_world.h"

namespace splitnic::fabric::link_up_test {

using namespace link_world;
using ::testing::ElementsAre;

std::optional<Init> next_init(InProcessUnderlay& at) {
  const auto batch = at.receive();
  FlitView flit;
  Init init;
  if (!batch || parse_flit(batch->bytes, flit) != FlitError::kNone ||
      parse_init(flit.payload, init) != InitError::kNone) {
    return std::nullopt;
  }
  return init;
}

TEST(LinkUpTest, X_46_both_ends_come_up_with_the_values_of_the_other) {
  World w;
  w.connect();
  ASSERT_TRUE(w.b->link().up());
  ASSERT_TRUE(w.a->link().up());
  EXPECT_EQ(w.a->link().peer_eui64(), Eui64(0xB));
  EXPECT_EQ(w.a->link().peer_instance(), 200U);
  EXPECT_EQ(w.b->link().peer_eui64(), Eui64(0xA));
  EXPECT_EQ(w.b->link().peer_instance(), 100U);
  EXPECT_EQ(w.b->link().peer_receive_buffer(), 4U << 20);
  EXPECT_EQ(w.a->link().local_lid(), Lid(1));
  EXPECT_EQ(w.a->link().remote_lid(), Lid(2));
  EXPECT_EQ(w.b->link().local_lid(), Lid(2));
  EXPECT_EQ(w.b->link().remote_lid(), Lid(1));
  EXPECT_EQ(w.a->port.by_lid(Lid(2)), &w.a->link());
  EXPECT_EQ(w.b->port.by_lid(Lid(1)), &w.b->link());
  EXPECT_EQ(w.a->port.by_lid(Lid(3)), nullptr);
  EXPECT_EQ(w.a->link().peer_name(), "endpoint 2");
  // An unknown peer is challenged: two INITs each way.
  EXPECT_EQ(w.b->count(LinkCounter::kTxInit), 2U);
  EXPECT_EQ(w.a->count(LinkCounter::kTxInit), 2U);
}

TEST(LinkUpTest, S000_39_mcp_is_1364_at_mtu_1500_over_ipv4) {
  World w;  // 1472 bytes of UDP payload
  w.connect();
  EXPECT_EQ(w.a->link().mcp(), 1364);
  EXPECT_EQ(w.b->link().mcp(), 1364);
  EXPECT_EQ(w.b->link().stride(), 1436U);
}

TEST(LinkUpTest, mcp_is_the_smaller_of_both_and_a_multiple_of_four) {
  PortConfig client = config_of(0xB, 200);
  client.mcp_wanted = 1003;
  World w({}, config_of(0xA, 100, true), client);
  w.connect();
  EXPECT_EQ(w.a->link().mcp(), 1000);
  EXPECT_EQ(w.b->link().mcp(), 1000);
}

TEST(LinkUpTest, jumbo_path_is_bounded_by_the_batch) {
  World w({.datagram_bytes_max = 65507});
  w.connect();
  EXPECT_EQ(w.a->link().mcp(), 64928);
}

TEST(LinkUpTest, every_peer_has_its_own_lid) {
  World w;
  w.connect();
  InProcessUnderlay& third = w.hub.add_endpoint();
  End c(third, config_of(0xC, 300));
  c.port.connect(w.listener_at.address(), w.clock.now());
  for (int i = 0; i < 3; ++i) {
    w.pump();
    c.receive(w.clock.now());
  }
  ASSERT_TRUE(c.link().up());
  EXPECT_EQ(c.link().local_lid(), Lid(3));
  EXPECT_EQ(w.a->port.by_lid(Lid(3))->peer_eui64(), Eui64(0xC));
  EXPECT_NE(w.a->port.by_lid(Lid(3))->slot(), w.a->port.by_lid(Lid(2))->slot());
}

TEST(LinkUpTest, hello_is_repeated_with_back_off_until_the_peer_is_there) {
  World w;
  w.listener_at.set_plugged(false);
  w.connect();
  w.run(5s);
  EXPECT_EQ(w.b->count(LinkCounter::kTxInit), 0U);
  // 0, 100, 300, 700, 1500, 2500, 3500, 4500 ms
  EXPECT_EQ(w.b->count(LinkCounter::kTxDropControl), 8U);
  EXPECT_TRUE(w.b->watch.events.empty());
  w.listener_at.set_plugged(true);
  w.run(1s);
  EXPECT_TRUE(w.b->link().up());
}

TEST(LinkUpTest, any_lost_init_is_repaired) {
  for (int lost = 0; lost < 4; ++lost) {
    World w;
    int seen = 0;
    const auto drop = [&](base::Bytes) { return seen++ == lost; };
    w.listener_faults.drop_received(drop);
    w.client_faults.drop_received(drop);
    w.connect();
    EXPECT_EQ(w.b->watch.link, nullptr);
    w.run(150ms);
    ASSERT_NE(w.b->watch.link, nullptr) << lost;
    EXPECT_TRUE(w.b->link().up()) << lost;
    EXPECT_TRUE(w.a->link().up()) << lost;
    EXPECT_EQ(w.a->watch.events.size(), 1U) << lost;
  }
}

TEST(LinkUpTest, X_46_another_instance_ends_the_old_one_before_ready) {
  World w;
  w.connect();
  const Lid lid = w.a->link().remote_lid();
  w.client_at.clear();
  w.b = std::make_unique<End>(w.client_faults, config_of(0xB, 201));
  std::vector<std::string> at_ready;
  w.client_faults.drop_received([&](base::Bytes) {
    at_ready = w.a->watch.events;  // the last one seen is READY
    return false;
  });
  w.connect();
  EXPECT_THAT(w.a->watch.events, ElementsAre("up", "restarted", "up"));
  EXPECT_THAT(at_ready, ElementsAre("up", "restarted", "up"));
  EXPECT_EQ(w.a->watch.restarted_instance, 200U);
  EXPECT_FALSE(w.a->watch.was_up_at_restart);
  EXPECT_EQ(w.a->link().peer_instance(), 201U);
  EXPECT_EQ(w.a->link().remote_lid(), lid);
  EXPECT_EQ(w.a->count(LinkCounter::kPeerRestart), 1U);
}

TEST(LinkUpTest, X_46_a_restarted_listener_is_found_by_its_client) {
  World w;
  w.connect();
  w.a = std::make_unique<End>(w.listener_faults, config_of(0xA, 101, true));
  w.run(600ms);
  EXPECT_THAT(w.b->watch.events, ElementsAre("up", "restarted", "up"));
  EXPECT_EQ(w.b->watch.restarted_instance, 100U);
  EXPECT_EQ(w.b->link().peer_instance(), 101U);
  EXPECT_TRUE(w.a->link().up());
}

TEST(LinkUpTest, X_46_a_forged_hello_changes_nothing) {
  World w;
  w.connect();
  // Instance 666 of 0xB sends HELLO from elsewhere, and from 0xB's own address.
  InProcessUnderlay& attacker = w.hub.add_endpoint();
  send_init(attacker, w.listener_at.address(), hello_of(0xB, 666));
  send_init(w.client_at, w.listener_at.address(), hello_of(0xB, 666));
  w.pump();
  EXPECT_THAT(w.a->watch.events, ElementsAre("up"));
  EXPECT_TRUE(w.a->link().up());
  EXPECT_EQ(w.a->link().peer_instance(), 200U);
  EXPECT_EQ(w.a->link().address(), w.client_at.address());
  // Without the token that went to the address, ANSWER is dropped.
  Init proof = hello_of(0xB, 666);
  proof.step = InitStep::kAnswer;
  proof.echo = 12345;
  send_init(attacker, w.listener_at.address(), proof);
  w.pump();
  EXPECT_EQ(w.a->count(LinkCounter::kRxDropChallenge), 1U);
  // A token for one address is not valid at another.
  const auto challenge = next_init(attacker);
  ASSERT_TRUE(challenge.has_value());
  EXPECT_EQ(challenge->step, InitStep::kChallenge);
  EXPECT_EQ(challenge->echo, 5U);
  proof.echo = challenge->nonce;
  send_init(w.client_at, w.listener_at.address(), proof);
  w.pump();
  EXPECT_EQ(w.a->count(LinkCounter::kRxDropChallenge), 2U);
  EXPECT_THAT(w.a->watch.events, ElementsAre("up"));
  // With it, from its own address, the sender is refused while 0xB is alive, and accepted then.
  send_init(attacker, w.listener_at.address(), proof);
  w.pump();
  EXPECT_THAT(w.a->watch.events, ElementsAre("up", "duplicate"));
  w.clock.advance(500ms);
  send_init(attacker, w.listener_at.address(), proof);
  w.pump();
  EXPECT_THAT(w.a->watch.events, ElementsAre("up", "duplicate", "restarted", "up"));
}

TEST(LinkUpTest, X_46_a_proof_recorded_before_a_restart_is_worth_nothing) {
  World w;
  std::vector<std::byte> recorded;
  w.listener_faults.drop_received([&](base::Bytes datagram) {
    FlitView flit;
    Init init;
    if (parse_flit(datagram, flit) == FlitError::kNone &&
        parse_init(flit.payload, init) == InitError::kNone && init.step == InitStep::kAnswer &&
        init.instance == 200) {
      recorded.assign(datagram.begin(), datagram.end());
    }
    return false;
  });
  w.connect();
  w.b = std::make_unique<End>(w.client_faults, config_of(0xB, 201));
  w.connect();
  ASSERT_EQ(w.a->link().peer_instance(), 201U);
  ASSERT_FALSE(recorded.empty());
  w.client_at.send(w.listener_at.address(), recorded, recorded.size());
  w.pump();
  EXPECT_EQ(w.a->link().peer_instance(), 201U);
  EXPECT_EQ(w.a->count(LinkCounter::kRxDropChallenge), 1U);
}

TEST(LinkUpTest, a_ready_without_our_nonce_is_dropped) {
  World w;
  w.listener_at.set_plugged(false);
  w.connect();
  Init ready = hello_of(0xA, 100);
  ready.step = InitStep::kReady;
  ready.lid = Lid(1);
  ready.offered_lid = Lid(2);
  w.listener_at.set_plugged(true);
  for (const std::uint64_t echo : {0U, 99U}) {
    ready.echo = echo;
    send_init(w.listener_at, w.client_at.address(), ready);
  }
  w.b->receive(w.clock.now());
  EXPECT_TRUE(w.b->watch.events.empty());
  EXPECT_EQ(w.b->count(LinkCounter::kRxDropChallenge), 2U);
}

TEST(LinkUpTest, a_client_that_moved_keeps_its_link_after_one_challenge) {
  World w;
  w.connect();
  InProcessUnderlay& elsewhere = w.hub.add_endpoint();
  send_init(elsewhere, w.listener_at.address(), hello_of(0xB, 200));
  w.a->receive(w.clock.now());
  const auto challenge = next_init(elsewhere);
  ASSERT_TRUE(challenge.has_value());
  EXPECT_EQ(w.a->link().address(), w.client_at.address());
  Init proof = hello_of(0xB, 200);
  proof.step = InitStep::kAnswer;
  proof.echo = challenge->nonce;
  send_init(elsewhere, w.listener_at.address(), proof);
  w.a->receive(w.clock.now());
  EXPECT_EQ(w.a->link().address(), elsewhere.address());
  EXPECT_THAT(w.a->watch.events, ElementsAre("up"));
}

TEST(LinkUpTest, refusals_have_a_reason_and_the_client_retries_each_second) {
  PortConfig client = config_of(0xB, 200);
  client.program_version = 0x01000000;
  World w({}, config_of(0xA, 100, true), client);
  w.connect();
  EXPECT_THAT(w.b->watch.events, ElementsAre("refused: version"));
  w.run(2500ms);
  EXPECT_EQ(w.b->watch.events.size(), 3U);
}

TEST(LinkUpTest, refuses_another_profile_its_own_identity_and_one_too_many) {
  {
    PortConfig client = config_of(0xB, 200);
    client.crc_head_only = true;
    World w({}, config_of(0xA, 100, true), client);
    w.connect();
    EXPECT_THAT(w.b->watch.events, ElementsAre("refused: profile"));
  }
  {
    World w({}, config_of(0xA, 100, true), config_of(0xA, 200));
    w.connect();
    EXPECT_THAT(w.b->watch.events, ElementsAre("refused: identity"));
  }
  FullListener w;
  EXPECT_THAT(w.other.watch.events, ElementsAre("refused: busy"));
  // A peer that has been away for a minute makes room; all of the old one ends first.
  w.client_at.set_plugged(false);
  w.run(62s, 50ms);
  w.a->watch.events.clear();
  w.other.port.on_time(w.clock.now());
  w.exchange();
  EXPECT_THAT(w.a->watch.events, ElementsAre("restarted", "up"));
  EXPECT_EQ(w.a->watch.restarted_instance, 200U);
  EXPECT_EQ(w.a->link().peer_eui64(), Eui64(0xC));
}

TEST(LinkUpTest, probe_of_a_known_peer_gets_a_reply) {
  World w;
  w.connect();
  Init probe = hello_of(0xB, 200);
  probe.step = InitStep::kProbe;
  probe.nonce = 77;
  w.client_at.clear();
  send_init(w.client_at, w.listener_at.address(), probe);
  w.a->receive(w.clock.now());
  const auto reply = next_init(w.client_at);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->step, InitStep::kProbeReply);
  EXPECT_EQ(reply->echo, 77U);
}

TEST(LinkUpTest, init_that_means_nothing_here_is_dropped_and_counted) {
  World w;
  w.connect();
  send_init(w.listener_at, w.client_at.address(), hello_of(0xA, 100));  // a client takes no HELLO
  w.pump();
  EXPECT_EQ(w.b->count(LinkCounter::kRxDropInit), 1U);
  // A flit CRC that leaves the INIT uncovered.
  send_init(w.client_at, w.listener_at.address(), hello_of(0xB, 200), kFlitHeaderCrcOnly);
  w.pump();
  EXPECT_EQ(w.a->count(LinkCounter::kRxDropInit), 1U);
  Init no_instance = hello_of(0xB, 0);
  send_init(w.client_at, w.listener_at.address(), no_instance);
  w.pump();
  EXPECT_EQ(w.a->count(LinkCounter::kRxDropInit), 2U);
  EXPECT_THAT(w.a->watch.events, ElementsAre("up"));
}

// The lanes of the full profile begin at each INIT that the listener takes.
struct FullWorld : World {
  FullWorld()
      : World({}, with_profile(config_of(0xA, 100, true), LinkProfile::kFull),
              with_profile(config_of(0xB, 200), LinkProfile::kFull)) {}
  void expect_one_link_that_carries() {
    EXPECT_THAT(a->watch.events, ElementsAre("up"));
    EXPECT_THAT(b->watch.events, ElementsAre("up"));
    ASSERT_TRUE(write(a->link(), pattern(100, 1)));
    ASSERT_TRUE(write(b->link(), pattern(100, 2)));
    pump();
    EXPECT_EQ(a->cells, Cells{pattern(100, 2)});
    EXPECT_EQ(b->cells, Cells{pattern(100, 1)});
  }
};

TEST(LinkUpTest, P_INIT_10_P_INIT_18_a_late_hello_restarts_no_link_of_the_full_profile) {
  FullWorld w;
  std::vector<std::byte> hello;
  w.listener_faults.drop_received([&](base::Bytes datagram) {
    if (hello.empty()) hello.assign(datagram.begin(), datagram.end());
    return false;
  });
  w.connect();
  EXPECT_EQ(w.client_at.send(w.listener_at.address(), hello, hello.size()),
            Underlay::SendStatus::kSent);
  w.pump();
  EXPECT_EQ(w.b->count(LinkCounter::kRxDropChallenge), 1U);
  w.expect_one_link_that_carries();
}

TEST(LinkUpTest, P_INIT_10_a_lost_ready_comes_again_in_the_full_profile) {
  FullWorld w;
  unsigned received = 0;
  w.client_faults.drop_received([&](base::Bytes) { return ++received == 2; });  // behind CHALLENGE
  w.connect();
  EXPECT_EQ(w.b->count(LinkCounter::kRxInit), 1U);
  w.run(200ms);
  w.expect_one_link_that_carries();
}

}  // namespace splitnic::fabric::link_up_test
