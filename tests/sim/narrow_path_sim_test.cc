// Paths that carry less than their interfaces, from the start or from some moment on. [L-33]
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "tests/sim/scenario.h"

namespace splitnic::sim::narrow_path_sim_test {

using namespace std::chrono_literals;

void send_both_ways(World& world, base::Duration time) {
  for (base::Duration at{}; at < time; at += 5ms) {
    world.send_to_lan(1400);
    world.send_to_host(1400);
    world.run(5ms);
  }
}

// The path silently drops long datagrams: the link finds out, and the pair that follows
// has cells that pass.
void expect_nothing_lost(World& world) {
  for (const char* name : {"host.tx.lost", "host.tx.drop.ended", "host.rx.drop.ended",
                           "iou.to_host.lost", "iou.from_host.drop.ended"}) {
    EXPECT_EQ(world.counter(name), 0U) << name;
  }
}

TEST(SimNarrowPath, L_33_a_path_that_swallows_long_datagrams) {
  for (const std::size_t datagram : {1472U, 8972U}) {  // an MTU of 1500 and one of 9000
    SCOPED_TRACE(datagram);
    WorldConfig config;
    config.seed = 33;
    config.faults.delay = 50us;
    config.path.datagram_bytes_max = datagram;
    World world(config);
    ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
    const auto traffic = [&](base::Duration time) { send_both_ways(world, time); };
    traffic(500ms);
    EXPECT_EQ(world.to_lan.taken(), world.to_lan.sent());
    for (fabric::FaultUnderlay* path : {&world.host_path(), &world.iou_path()}) {
      path->drop_sent([](base::Bytes bytes) { return bytes.size() > 1252; });
    }
    // A black hole of two seconds at most, and what was in flight arrives, in fragments.
    const auto to_lan = world.to_lan.taken();
    const auto to_host = world.to_host.taken();
    traffic(2s);
    EXPECT_GE(world.counter("link.path_narrowed"), 2U);
    EXPECT_GT(world.to_lan.taken(), to_lan);
    EXPECT_GT(world.to_host.taken(), to_host);
    EXPECT_EQ(world.counter("host.pair.ups"), 1U);
    traffic(4s);
    // And back: nothing changes until INIT.
    for (fabric::FaultUnderlay* path : {&world.host_path(), &world.iou_path()}) path->drop_sent({});
    traffic(1s);
    EXPECT_TRUE(world.run_until(5s, [&] { return world.connected() && world.quiet(); }));
    EXPECT_EQ(world.counter("host.pair.ups"), 2U) << "one more, in an orderly way";
    expect_nothing_lost(world);
    world.mark();
    traffic(500ms);
    EXPECT_TRUE(world.run_until(2s, [&] { return world.all_arrived(); }));
    const auto violations = world.violations();
    EXPECT_TRUE(violations.empty()) << violations.front();
  }
}

// The unit sends fragments already when a silence has both agree on short cells: the host has to
// cut its own, too, and does not wait until its way is narrower.
TEST(SimNarrowPath, L_33_init_with_a_smaller_mcp_between_the_two_ways) {
  WorldConfig config;
  config.seed = 33;
  config.faults.delay = 50us;
  config.path.datagram_bytes_max = 8972;
  World world(config);
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  const auto too_long = [](base::Bytes datagram) { return datagram.size() > 1252; };
  world.iou_path().drop_sent(too_long);
  send_both_ways(world, 2500ms);
  EXPECT_EQ(world.counter("link.path_narrowed"), 1U);
  for (fabric::FaultUnderlay* path : {&world.host_path(), &world.iou_path()}) path->set_cut(true);
  world.run(1200ms);
  for (fabric::FaultUnderlay* path : {&world.host_path(), &world.iou_path()}) path->set_cut(false);
  world.host_path().drop_sent(too_long);
  send_both_ways(world, 8s);
  EXPECT_TRUE(world.run_until(5s, [&] { return world.connected() && world.quiet(); }));
  EXPECT_EQ(world.counter("host.pair.ups"), 2U);
  expect_nothing_lost(world);
}

// The path carries less than its interfaces from the start: the pair that is made meanwhile is
// replaced before there is any traffic.
TEST(SimNarrowPath, L_33_a_path_narrower_than_its_interfaces) {
  WorldConfig config;
  config.seed = 33;
  config.faults.delay = 50us;
  World world(config);
  for (fabric::FaultUnderlay* path : {&world.host_path(), &world.iou_path()}) {
    path->drop_sent([](base::Bytes datagram) { return datagram.size() > 1300; });
  }
  ASSERT_TRUE(world.run_until(4s, [&] { return world.counter("host.pair.ups") == 2; }));
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected() && world.quiet(); }));
  world.mark();
  send_both_ways(world, 500ms);
  EXPECT_TRUE(world.run_until(2s, [&] { return world.all_arrived(); }));
  EXPECT_EQ(world.counter("host.pair.ups"), 2U);
  const auto violations = world.violations();
  EXPECT_TRUE(violations.empty()) << violations.front();
}

// Forged reports all the time, on both sides: no pair ends and no frame is lost.
TEST(SimNarrowPath, H_6_reports_of_a_narrow_path_end_no_session) {
  WorldConfig config;
  config.seed = 6;
  config.faults.delay = 50us;
  World world(config);
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  for (int i = 0; i < 400; ++i) {
    world.host_path().report_too_long();
    world.iou_path().report_too_long();
    send_both_ways(world, 5ms);
  }
  EXPECT_TRUE(world.run_until(2s, [&] { return world.all_arrived(); }));
  EXPECT_EQ(world.counter("link.path_narrowed"), 0U);
  EXPECT_EQ(world.counter("host.pair.ups"), 1U);
  EXPECT_EQ(world.counter("host.tx.lost"), 0U);
  EXPECT_EQ(world.counter("iou.to_host.lost"), 0U);
  const auto violations = world.violations();
  EXPECT_TRUE(violations.empty()) << violations.front();
}

// One way becomes narrow, and the other way later: the pair of the first time has cells that pass
// both ways, so it stays.
// The host makes a new pair when the way from it has narrowed; fragments are enough for the other.
TEST(SimNarrowPath, L_33_a_path_that_narrows_one_way_after_the_other_costs_one_pair) {
  for (const bool is_host_first : {true, false}) {
    WorldConfig config;
    config.seed = 33;
    config.faults.delay = 50us;
    World world(config);
    ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
    std::array ways{&world.host_path(), &world.iou_path()};
    if (!is_host_first) std::swap(ways[0], ways[1]);
    for (std::size_t i = 0; i < ways.size(); ++i) {
      ways[i]->drop_sent([](base::Bytes datagram) { return datagram.size() > 1300; });
      send_both_ways(world, 6s);
      EXPECT_EQ(world.counter("link.path_narrowed"), i + 1) << is_host_first;
      EXPECT_TRUE(world.run_until(5s, [&] { return world.connected() && world.quiet(); }));
      EXPECT_EQ(world.counter("host.pair.ups"), is_host_first ? 2U : i + 1) << is_host_first;
      EXPECT_EQ(world.counter("host.tx.lost") + world.counter("iou.to_host.lost"), 0U);
    }
    world.mark();
    send_both_ways(world, 500ms);
    EXPECT_TRUE(world.run_until(2s, [&] { return world.all_arrived(); }));
    const auto violations = world.violations();
    EXPECT_TRUE(violations.empty()) << violations.front();
  }
}

}  // namespace splitnic::sim::narrow_path_sim_test
