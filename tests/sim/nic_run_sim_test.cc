// Requests of the user about the remote NIC, over the queues of a host. [S001-25]
#include "host_module/nic_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/sim_world.h"

namespace splitnic::sim {
namespace nic_run_sim {

using namespace std::chrono_literals;
using control::Posted;
using ::testing::HasSubstr;

// The reply to `vlan add 10` of a host whose queue 1 is as given.
control::Reply add_vlan(Posted second_queue) {
  World world({.seed = 3});
  EXPECT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  const auto request = control::parse_nic_request("vlan-add", "10");
  EXPECT_TRUE(request) << request.error().text();
  std::optional<control::Reply> reply;
  host::NicRun::start(
      *request, {"nic0", "1", "unit", false}, *world.host,
      [&](std::size_t, const host::NicRun::WithHost&) { return second_queue; },
      [&](const control::Reply& got) { reply = got; });
  EXPECT_TRUE(world.run_until(2s, [&] { return reply.has_value(); }));
  return reply.value_or(control::Reply{});
}

TEST(NicRunSim, a_host_without_more_queues_has_done_it) {
  EXPECT_EQ(add_vlan(Posted::kNoQueue).status, control::ReplyStatus::kOk);
}

TEST(NicRunSim, a_queue_that_is_left_out_is_reported) {
  const control::Reply reply = add_vlan(Posted::kBusy);
  EXPECT_EQ(reply.status, control::ReplyStatus::kFailed);
  EXPECT_THAT(reply.text, HasSubstr("queue 1 is busy or stopping"));
}

// Runs the request on a host with one queue, and returns the text of the reply.
std::string ask(World& world, const std::string& what, const std::string& value) {
  const auto request = control::parse_nic_request(what, value);
  EXPECT_TRUE(request) << request.error().text();
  std::optional<control::Reply> reply;
  host::NicRun::start(
      *request, {"nic0", "1", "unit", false}, *world.host,
      [](std::size_t, const host::NicRun::WithHost&) { return Posted::kNoQueue; },
      [&](const control::Reply& got) { reply = got; });
  EXPECT_TRUE(world.run_until(2s, [&] { return reply.has_value(); }));
  EXPECT_EQ(reply->status, control::ReplyStatus::kOk) << reply->text;
  return reply->text;
}

std::vector<std::uint8_t> levels_of(World& world) { return world.host->connection()->levels(); }

TEST(NicRunSim, S001_49_other_service_levels_make_another_connection_with_a_queue_for_each) {
  World world({.seed = 3, .iou_pair = {.queues = 4}});
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  ask(world, "set-qos", "pcp 5 7 dscp 46 3");
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected() && !levels_of(world).empty(); }));
  const std::vector<std::uint8_t> levels{3, 7};
  EXPECT_EQ(levels_of(world), levels);
  EXPECT_EQ(world.iou->hosts().back()->connection().levels(), levels);
  EXPECT_EQ(world.counter("host.pair.ups"), 2U);
  EXPECT_TRUE(world.host->nic().has_carrier());
  EXPECT_THAT(ask(world, "qos", ""), HasSubstr("pcp 5: 7\n\tdscp 46: 3\n"));
  world.mark();
  for (int i = 0; i < 20; ++i) world.send_to_lan(200);
  for (int i = 0; i < 20; ++i) world.send_to_host(200);
  EXPECT_TRUE(world.run_until(2s, [&] { return world.all_arrived(); }));
  // The same levels for other frames need no other connection.
  ask(world, "set-qos", "pcp 6 7");
  world.run(100ms);
  EXPECT_EQ(world.counter("host.pair.ups"), 2U);
  ask(world, "clear-qos", "");
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected() && levels_of(world).empty(); }));
  EXPECT_EQ(world.counter("host.pair.ups"), 3U);
}

TEST(NicRunSim, S001_49_a_unit_that_grants_one_queue_has_no_level_in_force) {
  World world({.seed = 3});
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  ask(world, "set-qos", "pcp 5 7");
  ASSERT_TRUE(world.run_until(
      5s, [&] { return world.connected() && world.counter("host.pair.ups") == 2; }));
  EXPECT_THAT(ask(world, "qos", ""), HasSubstr("pcp 5: 7 [not in force]"));
}

TEST(NicRunSim, S001_49_a_new_unit_gets_the_coalescing_again) {
  World world({.seed = 3});
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  ask(world, "set-coalescing", "rx-usecs 50 adaptive-rx on");
  ask(world, "set-coalescing", "rx-frames 8");
  const messaging::Coalescing expected{50, 8, 0, true};
  EXPECT_EQ(world.iou->hosts().at(0)->nic().coalescing, expected);
  world.restart_iou();
  ASSERT_TRUE(world.run_until(5s, [&] { return world.connected(); }));
  EXPECT_EQ(world.iou->hosts().back()->nic().coalescing, expected);
  EXPECT_THAT(ask(world, "coalescing", ""), HasSubstr("Adaptive RX: on\n\trx-usecs: 50"));
}

// The unit forgets what it has of the host, also what the host sends once, and the host
// configures its NIC from the beginning: SET_MAC, VLAN_ADD, START.
TEST(NicRunSim, S001_49_S001_25_a_reset_clears_the_unit_and_the_host_configures_it_again) {
  World world({.seed = 3});
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  ask(world, "vlan-add", "10");
  iou::NicSettings& at_unit = world.iou->hosts().at(0)->nic();
  ASSERT_TRUE(world.run_until(2s, [&] { return at_unit.started && at_unit.mac.has_value(); }));
  const auto mac = at_unit.mac;
  const std::vector<std::uint16_t> listed{10};
  ASSERT_EQ(at_unit.vlans.list(), listed);
  // Without a reset the host leaves these as they are.
  at_unit.coalescing = {50, 8, 0, true};
  at_unit.vlans.add(30);
  at_unit.mac.reset();
  at_unit.started = false;
  world.run(100ms);
  ASSERT_FALSE(at_unit.started);
  ask(world, "reset", "");
  ASSERT_TRUE(world.run_until(2s, [&] { return at_unit.started; }));
  EXPECT_EQ(at_unit.coalescing, messaging::Coalescing{});
  EXPECT_EQ(at_unit.vlans.list(), listed);
  EXPECT_EQ(at_unit.mac, mac);
  EXPECT_EQ(world.counter("host.pair.ups"), 1U);
  world.mark();
  for (int i = 0; i < 20; ++i) world.send_to_lan(200);
  for (int i = 0; i < 20; ++i) world.send_to_host(200);
  EXPECT_TRUE(world.run_until(2s, [&] { return world.all_arrived(); }));
}

TEST(NicRunSim, S001_49_the_nics_of_the_unit_are_listed) {
  World world({.seed = 3});
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  EXPECT_THAT(ask(world, "list", ""), HasSubstr("0    up    1500"));
}

}  // namespace nic_run_sim
}  // namespace splitnic::sim
