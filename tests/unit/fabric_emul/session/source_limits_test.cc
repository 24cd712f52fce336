// The budget of each source of handshakes.
#include <gtest/gtest.h>

#include "fabric_emul/session/handshake_gate.h"
#include "tests/unit/fabric_emul/session/keyed_world.h"

namespace splitnic::fabric::session {
namespace {

using namespace std::chrono_literals;

TEST(SourceLimitsTest, S_60_a_source_with_a_cookie_has_its_share_only) {
  SourceLimits limits(20, 5);
  PeerAddress here;
  here.bytes[3] = std::byte{1};
  PeerAddress there;
  there.bytes[3] = std::byte{2};
  const base::Time now = base::Time{} + 1h;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(limits.take(now, here));
  EXPECT_FALSE(limits.take(now, here));
  EXPECT_TRUE(limits.take(now, there));
  EXPECT_FALSE(limits.take(now + 49ms, here));
  EXPECT_TRUE(limits.take(now + 50ms, here));
  // The table is bounded: idle sources make room.
  std::size_t admitted = 0;
  for (std::uint32_t i = 0; i < 2 * SourceLimits::kSourcesMax; ++i) {
    admitted += limits.take(now + 60ms, InProcessHub::address_of(1000 + i)) ? 1 : 0;
  }
  EXPECT_LT(admitted, SourceLimits::kSourcesMax);
  EXPECT_TRUE(limits.take(now + 10s, InProcessHub::address_of(100'000)));
}

// A peer that floods with a cookie: enough to renew keys, and no more.
TEST(SourceLimitsTest, S_60_the_address_of_a_peer_has_five_key_agreements_per_second_besides) {
  SessionConfig config;
  config.agreements_per_second = config.agreements_burst = 1;
  base::SeededRandom random(7);
  base::Counters<SessionCounter> counters;
  const MacKeys unit(public_key_of(random_private_key(random)));
  HandshakeGate gate(config, unit, random, counters);
  const PeerAddress from = InProcessHub::address_of(1);
  Buffer message = random_bytes(random, kInitiationBytes);
  begin_initiation(message, 1);
  put_macs(message, unit, nullptr);
  base::Time now = base::Time{} + 1h;
  ASSERT_EQ(gate.check(now, message, from, true), HandshakeGate::Verdict::kCookie);
  const auto cookie = open_cookie(gate.cookie_for(now, message, from), unit, mac1_of(message));
  ASSERT_TRUE(cookie);
  put_macs(message, unit, &*cookie);
  ASSERT_TRUE(gate.may_agree(now));  // strangers take the common ones
  int passed = 0;
  for (int i = 0; i < 10'000; ++i, now += 1ms) {
    gate.may_agree(now);
    passed += gate.check(now, message, from, true) == HandshakeGate::Verdict::kPass ? 1 : 0;
  }
  EXPECT_GE(passed, 50);
  EXPECT_LE(passed, 55);
}

}  // namespace
}  // namespace splitnic::fabric::session
