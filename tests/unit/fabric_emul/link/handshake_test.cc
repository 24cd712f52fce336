// The handshake of one link by hand: the edge table, nonces and echoes, the HELLO timer.
#include "fabric_emul/link/handshake.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace splitnic::fabric::handshake_test {

using namespace std::chrono_literals;

constexpr base::Time kStart{1000s};

Init step_of(InitStep step, std::uint64_t instance = 100) {
  Init init;
  init.step = step;
  init.eui64 = Eui64(0xA);
  init.instance = instance;
  init.receive_buffer_bytes = 1 << 20;
  return init;
}

struct Client {
  explicit Client(base::Duration wait = 100ms) { handshake.connect(wait, Lid()); }
  Init hello(base::Time now, base::Duration wait_max = 1s) {
    return handshake.hello(now, random, wait_max, step_of(InitStep::kHello, 200));
  }
  base::SeededRandom random{1};
  Handshake handshake;
};

TEST(HandshakeTest, every_state_and_event_has_one_successor) {
  using S = LinkState;
  using E = LinkEvent;
  const std::map<std::pair<S, E>, S> edges = {
      {{S::kFree, E::kAssigned}, S::kConnecting},  {{S::kConnecting, E::kReady}, S::kUp},
      {{S::kConnecting, E::kForgotten}, S::kFree}, {{S::kUp, E::kSilence}, S::kSilent},
      {{S::kUp, E::kEnded}, S::kConnecting},       {{S::kSilent, E::kHeard}, S::kUp},
      {{S::kSilent, E::kReady}, S::kUp},           {{S::kSilent, E::kEnded}, S::kConnecting},
  };
  EXPECT_EQ(edges.size(), kLinkEdges.size());
  for (int s = 0; s < static_cast<int>(S::kCount_); ++s) {
    for (int e = 0; e < static_cast<int>(E::kCount_); ++e) {
      const auto state = static_cast<S>(s);
      const auto edge = edges.find({state, static_cast<E>(e)});
      EXPECT_EQ(next(state, static_cast<E>(e)), edge == edges.end() ? state : edge->second)
          << name(state) << " " << e;
    }
  }
}

TEST(HandshakeTest, every_step_has_one_taker) {
  for (const InitStep step : {InitStep::kHello, InitStep::kAnswer})
    EXPECT_EQ(taker_of(step), InitTaker::kListener) << name(step);
  for (const InitStep step : {InitStep::kChallenge, InitStep::kReady, InitStep::kRefuse})
    EXPECT_EQ(taker_of(step), InitTaker::kClient) << name(step);
  for (const InitStep step : {InitStep::kBye, InitStep::kProbe, InitStep::kProbeReply})
    EXPECT_EQ(taker_of(step), InitTaker::kEither) << name(step);
}

TEST(HandshakeTest, hello_repeats_its_nonce_with_back_off_until_ready) {
  Client c;
  const Init first = c.hello(kStart);
  EXPECT_NE(first.nonce, 0U);
  EXPECT_EQ(first.offered_lid, Lid());
  EXPECT_EQ(c.handshake.next_hello(), kStart + 100ms);
  for (const base::Duration wait : {200ms, 400ms, 800ms, 1000ms, 1000ms}) {
    EXPECT_EQ(c.hello(kStart).nonce, first.nonce);
    EXPECT_EQ(c.handshake.next_hello(), kStart + wait);
  }
  Init ready = step_of(InitStep::kReady);
  ready.echo = first.nonce;
  ASSERT_TRUE(c.handshake.is_echo(ready));
  c.handshake.adopt(ready, Lid(2), Lid(1));
  EXPECT_TRUE(c.handshake.apply(LinkEvent::kReady));
  c.handshake.on_alive();
  EXPECT_EQ(c.handshake.next_hello(), base::kNever);
  EXPECT_FALSE(c.handshake.is_echo(ready)) << "a nonce is used once";
  EXPECT_NE(c.hello(kStart).nonce, first.nonce);
}

TEST(HandshakeTest, B_13_hello_is_repeated_often_where_the_peer_may_be_back) {
  Client c;
  c.handshake.restart(kStart + 100ms, 50ms, kStart + 1s);
  EXPECT_EQ(c.handshake.next_hello(), kStart + 100ms);
  std::set<base::Duration> waits;
  base::Time now = kStart + 100ms;
  while (now < kStart + 1s) {
    c.hello(now);
    const base::Duration wait = c.handshake.next_hello() - now;
    EXPECT_GE(wait, 50ms);
    EXPECT_LE(wait, base::Duration(50ms) * 4 / 3);
    waits.insert(wait);
    now = c.handshake.next_hello();
  }
  EXPECT_GT(waits.size(), 5U) << "hosts of one unit come at different times";
  for (const base::Duration wait : {50ms, 100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
    c.hello(now);
    EXPECT_EQ(c.handshake.next_hello(), now + wait);
  }
  c.handshake.restart(now, 100ms);
  c.hello(now);
  EXPECT_EQ(c.handshake.next_hello(), now + 100ms);
}

TEST(HandshakeTest, X_46_only_steps_that_echo_our_nonces_are_valid) {
  Client c;
  Init challenge = step_of(InitStep::kChallenge);
  challenge.nonce = 77;
  EXPECT_FALSE(c.handshake.is_challenge(challenge)) << "no HELLO was sent";
  challenge.echo = c.hello(kStart).nonce;
  ASSERT_TRUE(c.handshake.is_challenge(challenge));
  const Init proof = c.handshake.on_challenge(challenge, c.random, step_of(InitStep::kAnswer, 200));
  EXPECT_EQ(proof.echo, 77U);
  EXPECT_EQ(proof.peer_instance, 100U);
  EXPECT_NE(proof.nonce, challenge.echo);
  Init ready = step_of(InitStep::kReady);
  for (const std::uint64_t echo : {std::uint64_t{0}, std::uint64_t{77}, proof.nonce + 1}) {
    ready.echo = echo;
    EXPECT_FALSE(c.handshake.is_echo(ready)) << echo;
  }
  ready.echo = proof.nonce;
  EXPECT_TRUE(c.handshake.is_echo(ready));
  challenge.echo = proof.nonce;
  EXPECT_FALSE(c.handshake.is_challenge(challenge)) << "that is the nonce of ANSWER";
}

TEST(HandshakeTest, a_peer_is_known_by_component_and_instance) {
  Client c;
  EXPECT_FALSE(c.handshake.is_another_instance(step_of(InitStep::kReady, 100)));
  c.handshake.adopt(step_of(InitStep::kReady, 100), Lid(2), Lid(1));
  EXPECT_FALSE(c.handshake.is_another_instance(step_of(InitStep::kReady, 100)));
  EXPECT_TRUE(c.handshake.is_another_instance(step_of(InitStep::kReady, 101)));
  Init other = step_of(InitStep::kReady, 100);
  other.eui64 = Eui64(0xC);
  EXPECT_TRUE(c.handshake.is_another_instance(other));
  const Init bye = c.handshake.addressed(step_of(InitStep::kBye, 200));
  EXPECT_EQ(bye.peer_instance, 100U);
  EXPECT_EQ(bye.lid, Lid(2));
  EXPECT_EQ(bye.offered_lid, Lid()) << "only the listening side offers one";
}

TEST(HandshakeTest, a_refusal_delays_hello_and_is_kept_until_the_link_is_up) {
  Client c;
  c.hello(kStart);
  c.handshake.on_refuse(kStart, InitReason::kBusy, 1s);
  EXPECT_EQ(c.handshake.next_hello(), kStart + 1s);
  EXPECT_EQ(c.handshake.refusal(), InitReason::kBusy);
  c.handshake.apply(LinkEvent::kReady);
  EXPECT_EQ(c.handshake.refusal(), InitReason::kNone);
  c.handshake.restart(kStart + 2s, 100ms);
  EXPECT_EQ(c.handshake.next_hello(), kStart + 2s);
  c.handshake.stop();
  EXPECT_EQ(c.handshake.next_hello(), base::kNever);
}

TEST(HandshakeTest, a_listener_sends_no_hello_and_forgets_its_peer) {
  Handshake handshake;
  handshake.apply(LinkEvent::kAssigned);
  handshake.adopt(step_of(InitStep::kHello, 300), Lid(1), Lid(2));
  handshake.apply(LinkEvent::kReady);
  EXPECT_EQ(handshake.addressed(step_of(InitStep::kReady)).offered_lid, Lid(2));
  handshake.on_bye();
  EXPECT_TRUE(handshake.has_received_bye());
  handshake.apply(LinkEvent::kEnded);
  handshake.restart(kStart, 100ms);
  EXPECT_EQ(handshake.next_hello(), base::kNever);
  handshake.forget();
  EXPECT_EQ(handshake.state(), LinkState::kFree);
  EXPECT_EQ(handshake.peer().instance, 0U);
}

}  // namespace splitnic::fabric::handshake_test
