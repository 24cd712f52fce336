// BYE: a link ends at once, and what each end does after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "link_world.h"

namespace splitnic::fabric::link_bye_test {

using namespace link_world;
using ::testing::ElementsAre;

TEST(LinkByeTest, bye_takes_the_link_down_at_once_and_cannot_be_forged) {
  World w;
  w.connect();
  Init bye = hello_of(0xB, 200);
  bye.step = InitStep::kBye;
  bye.peer_instance = 7;
  send_init(w.client_at, w.listener_at.address(), bye);
  w.pump();
  EXPECT_TRUE(w.a->link().up());
  w.b->port.send_bye(w.clock.now());
  w.pump();
  EXPECT_THAT(w.a->watch.events, ElementsAre("up", "down: the peer stopped"));
  EXPECT_FALSE(w.b->link().up());
  w.run(3s);
  EXPECT_FALSE(w.b->link().up());  // closed for good
  EXPECT_EQ(w.a->watch.events.size(), 2U);
}

TEST(LinkByeTest, B_13_hello_is_sent_often_after_bye) {
  World w;
  w.connect();
  w.a->port.send_bye(w.clock.now());
  w.pump();
  w.client_faults.set_cut(true);
  const std::uint64_t before = w.b->count(LinkCounter::kTxInit);
  const auto sent = [&] { return w.b->count(LinkCounter::kTxInit) - before; };
  w.run(95ms, 1ms);
  EXPECT_EQ(sent(), 0U);
  w.run(905ms, 1ms);
  EXPECT_GE(sent(), 13U);
  EXPECT_LE(sent(), 19U);
  const std::uint64_t soon = sent();
  w.run(20s, 10ms);
  EXPECT_LE(sent(), soon + 25);
}

// The listener is hostile: it ends the link as often as it comes up.
TEST(LinkByeTest, M_20_a_client_whose_peer_sends_bye_all_the_time_comes_up_ten_times_per_second) {
  World w;
  w.connect();
  const base::Time begin = w.clock.now();
  while (w.clock.now() < begin + 1s) {
    w.a->port.send_bye(w.clock.now());
    w.run(1ms);
  }
  EXPECT_LE(w.b->count(LinkCounter::kDown), 11U);
  EXPECT_GE(w.b->count(LinkCounter::kDown), 8U);
}

TEST(LinkByeTest, a_peer_that_sent_bye_makes_room_at_once) {
  FullListener w;
  EXPECT_THAT(w.other.watch.events, ElementsAre("refused: busy"));
  w.b->port.send_bye(w.clock.now());
  w.run(2s);
  w.other.port.on_time(w.clock.now());
  w.exchange();
  EXPECT_THAT(w.other.watch.events, ElementsAre("refused: busy", "up"));
}

}  // namespace splitnic::fabric::link_bye_test
