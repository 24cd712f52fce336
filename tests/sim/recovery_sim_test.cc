// Processes that are killed and paths that go away, with traffic in flight.
#include <gtest/gtest.h>

#include "tests/sim/sim_world.h"

namespace splitnic::sim::recovery_sim_test {

using namespace std::chrono_literals;

WorldConfig config_of(std::uint64_t seed, base::Duration delay = 20us) {
  WorldConfig config;
  config.seed = seed;
  config.faults.delay = delay;
  config.host_pair.pools = config.iou_pair.pools = {{64, 2048}, {4, 65536}};
  return config;
}

void start(World& world) {
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
}

void send(World& world, int frames) {
  for (int i = 0; i < frames; ++i) {
    world.send_to_lan(60 + world.random.below(1466));
    world.send_to_host(60 + world.random.below(1466));
  }
}

// Frames sent from now on arrive, unchanged and in order, and all elements come back.
void expect_working(World& world) {
  ASSERT_TRUE(world.connected());
  ASSERT_TRUE(world.run_until(10s, [&] { return world.quiet(); }));
  world.mark();
  for (int i = 0; i < 10; ++i) {
    send(world, 10);
    world.run(1ms);
  }
  EXPECT_TRUE(world.run_until(5s, [&] { return world.all_arrived() && world.quiet(); }));
  world.run(20ms);
  EXPECT_EQ(world.pools_fault(), "");
  EXPECT_TRUE(world.tap.carrier);
  const auto violations = world.violations();
  EXPECT_TRUE(violations.empty()) << violations.front();
}

enum class Killed : std::uint8_t { kHost, kIou, kHostThenIou, kIouThenHost, kBoth };

// Kills in mid-traffic, again and again; each time all is up again within a second.
void kill_often(World& world, int times, const std::function<Killed(int)>& who) {
  start(world);
  for (int i = 0; i < times; ++i) {
    send(world, 30);
    world.run(std::chrono::microseconds(world.random.below(2000)));
    const Killed killed = who(i);
    const base::Duration between = killed == Killed::kBoth ? 0ms : 40ms;
    if (killed == Killed::kHost || killed == Killed::kHostThenIou) world.restart_host();
    if (killed == Killed::kHostThenIou) world.run(between);
    if (killed != Killed::kHost) world.restart_iou();
    if (killed == Killed::kIouThenHost) world.run(between);
    if (killed == Killed::kIouThenHost || killed == Killed::kBoth) world.restart_host();
    ASSERT_TRUE(world.run_until(1s, [&] { return world.connected(); })) << "after kill " << i;
    if (i % 20 == 0) expect_working(world);
    ASSERT_FALSE(testing::Test::HasFailure()) << "after kill " << i;
  }
  expect_working(world);
}

TEST(SimRecovery, F_45_a_killed_host_comes_back_100_times) {
  World world(config_of(45));
  kill_often(world, 100, [](int) { return Killed::kHost; });
}

TEST(SimRecovery, F_46_a_killed_iou_comes_back_100_times) {
  World world(config_of(46));
  kill_often(world, 100, [](int) { return Killed::kIou; });
}

TEST(SimRecovery, F_47_both_are_killed_in_every_order_1000_times) {
  World world(config_of(47));
  kill_often(world, 1000, [](int i) {
    return i % 3 == 0 ? Killed::kHostThenIou : i % 3 == 1 ? Killed::kIouThenHost : Killed::kBoth;
  });
  EXPECT_EQ(world.restarts(), 2000U);
}

// The path holds datagrams of the old process back until the new one is up and connected.
TEST(SimRecovery, F_48_late_cells_of_the_old_process_have_no_effect) {
  for (const bool is_host : {true, false}) {
    World world(config_of(48));
    start(world);
    fabric::FaultConfig slow;
    slow.delay = 20us;
    slow.reorder_ppm = 300'000;
    slow.reorder_delay = 1500ms;
    world.set_faults(slow);
    send(world, 60);
    world.run(2ms);
    world.set_faults({.delay = 20us});
    if (is_host)
      world.restart_host();
    else
      world.restart_iou();
    ASSERT_TRUE(world.run_until(1400ms, [&] { return world.connected(); }));
    const auto dropped = [&] {
      return world.counter("fabric.cell.drop.qp") + world.counter("fabric.cell.drop.source") +
             world.counter("fabric.mgmt.drop.peer");
    };
    const std::uint64_t before = dropped();
    world.run(2s);
    EXPECT_GT(dropped(), before) << "no late cell came";
    expect_working(world);
  }
}

TEST(SimRecovery, L_31_two_seconds_without_a_path_end_no_queue_pair) {
  World world(config_of(31));
  start(world);
  for (int round = 0; round < 5; ++round) {
    const base::Time end = world.clock.now() + 5s;
    while (world.clock.now() < end) {
      send(world, 8);
      world.run(100ms);
    }
    send(world, 20);
    world.run(30us);
    world.set_cut(true);
    send(world, 20);
    world.run(2s);
    world.set_cut(false);
    ASSERT_TRUE(world.run_until(1s, [&] { return world.quiet(); }));
  }
  EXPECT_EQ(world.counter("host.pair.downs"), 0U);
  EXPECT_EQ(world.counter("iou.hosts.downs"), 0U);
  EXPECT_EQ(world.counter("fabric.qp.error"), 0U);
  EXPECT_EQ(world.to_lan.taken(), world.to_lan.sent());
  EXPECT_EQ(world.to_host.taken(), world.to_host.sent());
  expect_working(world);
}

// With traffic in flight the queue pairs give up; within a second after the path is back so
// is the pair.
TEST(SimRecovery, L_31_thirty_seconds_end_the_pair_and_it_comes_back) {
  World world(config_of(32));
  start(world);
  send(world, 20);
  world.set_cut(true);
  world.run(30s);
  EXPECT_FALSE(world.connected());
  EXPECT_FALSE(world.tap.carrier);
  EXPECT_GT(world.counter("fabric.qp.error"), 0U);
  world.set_cut(false);
  EXPECT_TRUE(world.run_until(1s, [&] { return world.connected(); }));
  expect_working(world);
}

// Frames are on the way when the path goes away for `span`. Returns whether the pair has ended.
bool ends_by_blackout(base::Duration span) {
  World world(config_of(36));
  start(world);
  EXPECT_TRUE(world.run_until(1s, [&] { return world.quiet(); }));
  world.set_cut(true);
  world.send_to_lan(100);
  world.run(span);
  world.set_cut(false);
  EXPECT_TRUE(world.run_until(3s, [&] { return world.connected(); })) << span / 1ms << " ms";
  expect_working(world);
  return world.counter("host.pair.downs") > 0;
}

// The budget of tries, to the millisecond.
TEST(SimRecovery, L_32_a_blackout_just_under_and_just_over_the_budget_of_tries) {
  base::Duration survived = 1s;
  base::Duration ended = 30s;
  ASSERT_FALSE(ends_by_blackout(survived));
  ASSERT_TRUE(ends_by_blackout(ended));
  while (ended - survived > 1ms) {
    const base::Duration middle = survived + (ended - survived) / 2;
    (ends_by_blackout(middle) ? ended : survived) = middle;
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  // Five seconds without progress are granted, and the link needs a part of them to be up again.
  EXPECT_GE(ended, 4s);
  EXPECT_LE(ended, 10s);
}

// The side that sent nothing does not notice on its own; it is notified as soon as the link is up.
TEST(SimRecovery, L_31_the_idle_side_learns_that_the_pair_ended) {
  for (const bool host_is_idle : {true, false}) {
    World world(config_of(33));
    start(world);
    ASSERT_TRUE(world.run_until(1s, [&] { return world.quiet(); }));
    world.set_cut(true);
    if (host_is_idle)
      world.send_to_host(100);
    else
      world.send_to_lan(100);
    world.run(30s);
    world.set_cut(false);
    EXPECT_TRUE(world.run_until(1s, [&] { return world.connected(); }));
    expect_working(world);
  }
}

// A silent second takes the carrier down; the pair lives on, so nothing but the link itself brings
// it back.
TEST(SimRecovery, L_31_the_carrier_comes_back_with_the_link) {
  World world(config_of(34));
  start(world);
  ASSERT_TRUE(world.run_until(1s, [&] { return world.quiet(); }));
  EXPECT_TRUE(world.tap.carrier);
  world.set_cut(true);
  world.run(1500ms);
  EXPECT_FALSE(world.tap.carrier);
  world.set_cut(false);
  EXPECT_TRUE(world.run_until(1s, [&] { return world.tap.carrier; }));
  EXPECT_EQ(world.counter("host.pair.downs"), 0U);
  expect_working(world);
}

// A request without a reply in time was not refused: it is repeated. The path goes away at
// each moment of the set-up in turn.
TEST(SimRecovery, L_31_a_blackout_while_the_nic_is_configured) {
  for (int moment = 0; moment < 60; ++moment) {
    World world(config_of(100));
    ASSERT_TRUE(world.run_until(2s, [&] { return world.host->connection_up(); }));
    world.run(std::chrono::microseconds(10 * moment));
    world.set_cut(true);
    world.run(1900ms);
    world.set_cut(false);
    ASSERT_TRUE(world.run_until(5s, [&] { return world.connected(); })) << "moment " << moment;
    expect_working(world);
    ASSERT_FALSE(testing::Test::HasFailure()) << "moment " << moment;
  }
}

// The interface has frames before there is anybody to take them: they wait there, none is read to
// be dropped.
TEST(SimRecovery, S001_28_frames_wait_until_the_nic_is_configured) {
  World world(config_of(35));
  for (int i = 0; i < 50; ++i) world.send_to_lan(100);
  start(world);
  EXPECT_TRUE(world.run_until(1s, [&] { return world.to_lan.taken() == 50; }));
  expect_working(world);
}

}  // namespace splitnic::sim::recovery_sim_test
