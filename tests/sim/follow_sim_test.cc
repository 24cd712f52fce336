// An additional queue of the host: when it connects, when its queue of the interface is attached,
// and what ends it. The state of queue 0 is given by hand.
#include <gtest/gtest.h>

#include "tests/sim/sim_world.h"

namespace splitnic::sim {
namespace follow_sim_test {

using namespace std::chrono_literals;
using Calls = std::vector<bool>;

class FollowSim : public ::testing::Test {
 protected:
  bool link_is_up() { return world.host->link_to(0)->up(); }
  // Queue 0 is configured, at the process that this queue finds.
  host::QueueZero queue_zero(std::uint32_t queues = 2) {
    EXPECT_TRUE(world.run_until(2s, [this] { return link_is_up(); }));
    const fabric::Link& link = *world.host->link_to(0);
    return {true, queues, link.peer_eui64(), link.peer_instance(), 0};
  }
  bool connect() {
    world.host->follow(queue_zero());
    return world.run_until(2s, [this] { return world.connected(); });
  }
  // It does not run again and again with nothing to do.
  bool sleeps() {
    const std::uint64_t before = world.iterations;
    world.run(1s);
    return world.iterations - before < 1000;
  }
  bool arrives() {
    world.send_to_lan(100);
    world.send_to_host(100);
    return world.run_until(1s, [this] {
      return world.to_lan.taken() == world.to_lan.sent() &&
             world.to_host.taken() == world.to_host.sent();
    });
  }

  World world{{.seed = 31, .host_queue = 1}};
};

TEST_F(FollowSim, it_sleeps_until_queue_0_is_configured) {
  ASSERT_TRUE(world.run_until(2s, [this] { return link_is_up(); }));
  EXPECT_TRUE(sleeps());
  EXPECT_FALSE(world.host->connection_up());
  EXPECT_TRUE(world.tap.attach_calls.empty());
  ASSERT_TRUE(connect());
  EXPECT_TRUE(arrives());
  EXPECT_EQ(world.counter("host.queue.ups"), 1U);
  EXPECT_EQ(world.counter("host.pair.ups"), 0U);
}

TEST_F(FollowSim, it_does_not_connect_to_a_unit_with_fewer_queues) {
  world.host->follow(queue_zero(1));
  EXPECT_TRUE(sleeps());
  EXPECT_FALSE(world.host->connection_up());
}

TEST_F(FollowSim, it_does_not_connect_to_another_process_than_queue_0) {
  host::QueueZero state = queue_zero();
  state.instance ^= 2;
  world.host->follow(state);
  EXPECT_TRUE(sleeps());
  EXPECT_FALSE(world.host->connection_up());
}

// Earlier frames of its flows may still be on the way over another queue.
TEST_F(FollowSim, it_reads_nothing_for_a_while_after_its_queue_was_attached) {
  ASSERT_TRUE(world.run_until(2s, [this] { return link_is_up(); }));
  world.host->follow(queue_zero());
  ASSERT_TRUE(world.run_until(2s, [this] { return world.host->is_attached(); }));
  EXPECT_EQ(world.tap.attach_calls, Calls{true});
  EXPECT_FALSE(world.host->wants_tap_input());
  const base::Time attached_at = world.clock.now();
  ASSERT_TRUE(world.run_until(1s, [this] { return world.host->wants_tap_input(); }));
  EXPECT_GE(world.clock.now() - attached_at + 1ms, messaging::kQueueSettleFor);
  EXPECT_TRUE(arrives());
}

TEST_F(FollowSim, its_connection_outlives_that_of_queue_0) {
  ASSERT_TRUE(connect());
  world.host->follow({});
  world.run(1s);
  EXPECT_TRUE(world.host->connection_up());
  EXPECT_TRUE(arrives());
  EXPECT_EQ(world.counter("host.queue.downs"), 0U);
}

TEST_F(FollowSim, it_ends_when_queue_0_is_at_another_process) {
  ASSERT_TRUE(connect());
  host::QueueZero other = queue_zero();
  other.instance ^= 2;
  world.host->follow(other);
  world.run(1s);
  EXPECT_FALSE(world.host->connection_up());
  EXPECT_EQ(world.tap.attach_calls, (Calls{true, false}));
  EXPECT_EQ(world.counter("host.queue.downs"), 1U);
  ASSERT_TRUE(connect());
  EXPECT_TRUE(arrives());
}

TEST_F(FollowSim, without_its_path_it_ends_and_returns) {
  ASSERT_TRUE(connect());
  world.set_cut(true);
  ASSERT_TRUE(world.run_until(10s, [this] { return !link_is_up(); }));
  world.run(100ms);
  EXPECT_FALSE(world.host->connection_up());
  EXPECT_EQ(world.tap.attach_calls, (Calls{true, false}));
  world.set_cut(false);
  ASSERT_TRUE(world.run_until(10s, [this] { return world.connected(); }));
  EXPECT_EQ(world.tap.attach_calls, (Calls{true, false, true}));
  EXPECT_TRUE(arrives());
}

TEST_F(FollowSim, F_51_what_it_has_read_arrives_before_a_stop) {
  ASSERT_TRUE(connect());
  ASSERT_TRUE(world.run_until(1s, [this] { return world.host->wants_tap_input(); }));
  for (int i = 0; i < 50; ++i) world.send_to_lan(1000);
  ASSERT_TRUE(world.run_until(1s, [this] { return world.tap.queued() == 0; }));
  world.host->begin_stop();
  world.host->follow({});
  ASSERT_TRUE(world.run_until(1s, [this] { return world.host->is_drained(); }));
  EXPECT_EQ(world.to_lan.taken(), world.to_lan.sent());
  EXPECT_EQ(world.tap.attach_calls, (Calls{true, false}));
}

}  // namespace follow_sim_test
}  // namespace splitnic::sim
