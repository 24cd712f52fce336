// Keep-alive: IDLE, four missing, recovery, deadlines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "link_world.h"

namespace splitnic::fabric::link_keepalive_test {

using namespace link_world;
using ::testing::ElementsAre;

TEST(LinkUpTest, idle_keeps_a_quiet_link_up) {
  World w;
  w.connect();
  w.run(10s);
  EXPECT_THAT(w.a->watch.events, ElementsAre("up"));
  EXPECT_THAT(w.b->watch.events, ElementsAre("up"));
  EXPECT_NEAR(static_cast<double>(w.a->count(LinkCounter::kTxIdle)), 50, 3);
  EXPECT_EQ(w.b->count(LinkCounter::kRxIdle), w.a->count(LinkCounter::kTxIdle));
}

TEST(LinkUpTest, no_idle_while_cells_flow) {
  World w;
  w.connect();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(write(w.b->link(), pattern(64, 1)));
    ASSERT_TRUE(write(w.a->link(), pattern(64, 1)));
    w.pump();
    w.run(100ms);
  }
  EXPECT_EQ(w.a->count(LinkCounter::kTxIdle), 0U);
  EXPECT_EQ(w.b->count(LinkCounter::kTxIdle), 0U);
}

TEST(LinkUpTest, four_missing_idles_take_the_link_down_and_it_comes_back) {
  World w;
  w.connect();
  w.listener_faults.set_cut(true);
  w.client_faults.set_cut(true);
  w.run(790ms);
  EXPECT_TRUE(w.a->link().up());
  EXPECT_TRUE(w.b->link().up());
  w.run(210ms);
  EXPECT_THAT(w.a->watch.events, ElementsAre("up", "down: nothing heard from the peer"));
  EXPECT_THAT(w.b->watch.events, ElementsAre("up", "down: nothing heard from the peer"));
  EXPECT_EQ(w.b->link().state(), LinkState::kSilent);
  EXPECT_FALSE(write(w.b->link(), pattern(64, 1)));
  w.run(3s);
  w.listener_faults.set_cut(false);
  w.client_faults.set_cut(false);
  w.run(1s);
  EXPECT_TRUE(w.a->link().up());
  EXPECT_TRUE(w.b->link().up());
  EXPECT_EQ(w.a->count(LinkCounter::kPeerRestart), 0U);  // the same instances
  EXPECT_EQ(w.b->count(LinkCounter::kPeerRestart), 0U);
}

// Until 5 s after the last flit the listener is asked for every 200 ms, then every second.
TEST(LinkUpTest, F_46_a_listener_that_fell_silent_is_found_soon_after_its_start) {
  World w;
  w.connect();
  w.client_faults.set_cut(true);
  const auto inits = [&w] { return w.b->count(LinkCounter::kTxInit); };
  w.run(1s, 10ms);
  std::uint64_t before = inits();
  w.run(3500ms, 10ms);
  EXPECT_GE(inits() - before, 16U);
  EXPECT_LE(inits() - before, 19U);
  w.run(3s, 10ms);
  before = inits();
  w.run(10s, 10ms);
  EXPECT_LE(inits() - before, 10U);
  EXPECT_GE(inits() - before, 9U);
}

TEST(LinkUpTest, X_46_a_restarted_listener_is_found_under_traffic_before_the_link_is_down) {
  World w;
  w.connect();
  w.a = std::make_unique<End>(w.listener_faults, config_of(0xA, 101, true));
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(write(w.b->link(), pattern(64, 1)));
    w.run(10ms);
  }
  EXPECT_THAT(w.b->watch.events, ElementsAre("up", "restarted", "up"));
  EXPECT_EQ(w.b->link().peer_instance(), 101U);
}

// Its peer replies to each HELLO and sends no flit.
TEST(LinkUpTest, P_LINK_6_a_ready_that_is_taken_is_a_sign_of_life) {
  World w;
  w.connect();
  w.client_faults.drop_received([](base::Bytes datagram) {
    return std::to_integer<unsigned>(datagram[0]) >> 4 != static_cast<unsigned>(FlitType::kInit);
  });
  w.run(10s);
  EXPECT_THAT(w.a->watch.events, ElementsAre("up"));
  EXPECT_THAT(w.b->watch.events, ElementsAre("up"));
  EXPECT_EQ(w.b->count(LinkCounter::kRxIdle), 0U);
}

TEST(LinkUpTest, any_valid_flit_brings_a_silent_link_back) {
  World w;
  w.connect();
  w.listener_faults.drop_received([](base::Bytes) { return true; });
  w.run(1s);
  EXPECT_FALSE(w.a->link().up());
  EXPECT_TRUE(w.b->link().up());  // IDLE came until the listener gave up
  w.listener_faults.drop_received({});
  ASSERT_TRUE(write(w.b->link(), pattern(64, 9)));
  w.pump();
  EXPECT_TRUE(w.a->link().up());
  ASSERT_EQ(w.a->cells.size(), 1U);
  EXPECT_EQ(w.a->cells[0], pattern(64, 9));
}

TEST(LinkUpTest, S000_47_a_quiet_peer_replies_to_a_probe_at_once) {
  World w;
  w.connect();
  w.run(1s);
  w.clock.advance(1ms);
  ASSERT_LT(w.b->link().last_heard(), w.clock.now());
  w.b->port.probe(w.b->link());
  w.pump();
  EXPECT_EQ(w.b->link().last_heard(), w.clock.now());
  w.listener_faults.set_cut(true);
  w.run(1s);
  ASSERT_FALSE(w.b->link().up());
  const std::uint64_t inits = w.b->count(LinkCounter::kTxInit);
  w.b->port.probe(w.b->link());
  EXPECT_EQ(w.b->count(LinkCounter::kTxInit), inits) << "a link that is down has its HELLO";
}

TEST(LinkUpTest, deadline_is_the_next_thing_to_do) {
  World w;
  EXPECT_EQ(w.a->port.deadline(), base::kNever);
  const base::Time start = w.clock.now();
  w.listener_at.set_plugged(false);
  w.connect();
  EXPECT_EQ(w.b->port.deadline(), start + 100ms);
  w.listener_at.set_plugged(true);
  w.run(100ms, 100ms);
  ASSERT_TRUE(w.b->link().up());
  EXPECT_EQ(w.b->port.deadline(), w.clock.now()) << "the path is probed first";
  w.run(50ms, 50ms);
  EXPECT_EQ(w.b->port.deadline(), w.clock.now() + 50ms) << "then the replies count";
  w.run(50ms, 50ms);
  EXPECT_EQ(w.b->port.deadline(), w.clock.now() + 100ms) << "200 ms after the link was up";
}

}  // namespace splitnic::fabric::link_keepalive_test
