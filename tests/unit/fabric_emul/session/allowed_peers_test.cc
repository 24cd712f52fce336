// Peers that come and go while the port runs, and the addresses where they may be.
#include <gtest/gtest.h>

#include "fabric_emul/session/keyed_underlay.h"
#include "tests/unit/fabric_emul/session/keyed_world.h"

namespace splitnic::fabric::session {
namespace {

using Status = Underlay::SendStatus;

TEST(AllowedPeersTest, S_56_a_key_that_is_gone_gets_nothing_until_it_is_allowed_again) {
  KeyedWorld world;
  world.start();
  world.connect();
  const PublicKey key = public_key_of(world.host_secret);
  EXPECT_TRUE(world.unit->keyed.view_of(key)->agreed_at);
  world.unit->keyed.disallow(key);
  EXPECT_FALSE(world.unit->keyed.view_of(key));
  EXPECT_EQ(world.send_down(KeyedWorld::payload(8, 1)), Status::kRefused);
  world.unit->received.clear();
  world.unit->path.sent.clear();
  world.connect(5s);
  EXPECT_EQ(world.unit->received, Datagrams{});
  EXPECT_EQ(world.unit->path.sent, Datagrams{}) << "it is silent";
  EXPECT_GT(world.unit->count(SessionCounter::kRxDropIndex), 0U);
  EXPECT_GT(world.unit->count(SessionCounter::kRxDropUnknownKey), 0U);
  world.unit->keyed.disallow(key);  // no effect
  ASSERT_TRUE(world.unit->keyed.allow({key, world.psk, {}}));
  for (int i = 0; i < 500 && world.unit->received.empty(); ++i) {
    world.send_up(KeyedWorld::payload(88, 1));
    world.step(20ms);
  }
  EXPECT_FALSE(world.unit->received.empty());
}

// Under load the addresses of peers have cookies besides those that strangers take. Not that of a
// former one.
TEST(AllowedPeersTest, S_56_the_address_of_a_key_that_is_gone_is_a_strangers) {
  KeyedWorld world;
  world.common.cookies_below = world.common.agreements_burst + 1;  // under load all the time
  world.common.cookies_per_second = 1;
  world.start();
  world.connect();
  ASSERT_TRUE(world.is_up());
  world.step(10s);
  world.unit->keyed.disallow(public_key_of(world.host_secret));
  const std::uint64_t cookies = world.unit->count(SessionCounter::kTxCookie);
  for (int i = 0; i < 2; ++i) {
    world.make_host();
    world.send_up(KeyedWorld::payload(88, 1));
    world.unit->receive();
  }
  EXPECT_EQ(world.unit->count(SessionCounter::kTxCookie), cookies + 1);
  EXPECT_EQ(world.unit->count(SessionCounter::kRxDropUnknownKey), 0U);
}

TEST(AllowedPeersTest, S_56_a_session_that_is_ended_needs_another_handshake) {
  KeyedWorld world;
  world.start();
  world.connect();
  const PublicKey key = public_key_of(world.host_secret);
  const base::Time first = *world.unit->keyed.view_of(key)->agreed_at;
  const std::uint64_t handshakes = world.unit->count(SessionCounter::kRxInitiation);
  world.step(1s);
  world.unit->keyed.end_session(key);
  EXPECT_FALSE(world.unit->keyed.has_session(world.host_address));
  world.unit->keyed.end_session(PublicKey());  // nobody
  world.unit->received.clear();
  world.send_up(KeyedWorld::payload(88, 1));
  world.exchange();
  EXPECT_EQ(world.unit->received, Datagrams{}) << "under the keys that ended";
  world.connect();
  ASSERT_TRUE(world.is_up());
  EXPECT_GT(world.unit->count(SessionCounter::kRxInitiation), handshakes);
  EXPECT_GT(*world.unit->keyed.view_of(key)->agreed_at, first);
}

TEST(AllowedPeersTest, S_57_a_peer_is_where_it_may_be) {
  KeyedWorld world;
  InProcessUnderlay& elsewhere = world.hub.add_endpoint();
  const PublicKey key = public_key_of(world.host_secret);
  PeerAddress home = world.host_at.address();
  world.common.may_be_at = [&](const PublicKey& whose, const PeerAddress& at) {
    EXPECT_EQ(whose, key);
    return at == home;
  };
  int reported = 0;
  world.common.on_fault = [&](HandshakeFault fault, const PublicKey& whose, const PeerAddress& at) {
    EXPECT_EQ(fault, HandshakeFault::kAddress);
    EXPECT_EQ(whose, key);
    EXPECT_EQ(at, elsewhere.address());
    ++reported;
  };
  world.start();
  world.connect();
  ASSERT_TRUE(world.is_up());
  // Records from elsewhere are dropped, and the address of the peer stays.
  world.host->path.move_to(elsewhere);
  world.unit->received.clear();
  world.send_up(KeyedWorld::payload(88, 2));
  world.exchange();
  EXPECT_EQ(world.unit->received, Datagrams{});
  EXPECT_GT(world.unit->count(SessionCounter::kRxDropAddress), 0U);
  EXPECT_EQ(world.unit->keyed.view_of(key)->endpoint, world.host_at.address());
  // So is an INITIATION.
  world.unit->keyed.end_session(key);
  world.unit->path.sent.clear();
  const std::uint64_t drops = world.unit->count(SessionCounter::kRxDropAddress);
  for (int i = 0; i < 100; ++i) {
    world.send_up(KeyedWorld::payload(88, 3));
    world.step(20ms);
  }
  EXPECT_EQ(world.unit->path.sent, Datagrams{}) << "it is silent";
  EXPECT_GT(world.unit->count(SessionCounter::kRxDropAddress), drops);
  EXPECT_GT(reported, 0);
  // Until it may be there.
  home = elsewhere.address();
  world.connect();
  EXPECT_TRUE(world.is_up());
  EXPECT_EQ(world.unit->count(SessionCounter::kRoamed), 1U);
}

}  // namespace
}  // namespace splitnic::fabric::session
