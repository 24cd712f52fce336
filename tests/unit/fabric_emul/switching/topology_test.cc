// Routes that follow from a topology.
#include "fabric_emul/switching/topology.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace splitnic::fabric {
namespace topology_test {

// A ring of four switches a, b, c, d (LIDs 1 to 4): port 1 leads on, port 2 back, and a node (LID
// 11 to 14) is at port 3 of each.
Topology ring() {
  const std::vector<std::string> names{"a", "b", "c", "d"};
  Topology topology;
  for (std::uint16_t i = 0; i < 4; ++i) {
    const auto number = static_cast<std::uint16_t>(i + 1);
    topology.switches.push_back({names[i], Lid(number)});
    topology.nodes.push_back(
        {"n" + names[i], Lid(static_cast<std::uint16_t>(10 + number)), {names[i], 3}});
    topology.cables.push_back({{names[i], 1}, {names[(i + 1U) % 4U], 2}});
  }
  return topology;
}

TEST(TopologyTest, S000_32_routes_are_the_shortest) {
  const SwitchPlan plan = plan_of(ring(), "a").value();
  EXPECT_EQ(plan.lid, Lid(1));
  EXPECT_EQ(plan.tables.port_of(Lid(11)), 3);
  EXPECT_EQ(plan.tables.port_of(Lid(12)), 1);
  EXPECT_EQ(plan.tables.port_of(Lid(14)), 2);
  EXPECT_EQ(plan.tables.port_of(Lid(4)), 2);
  EXPECT_EQ(plan.tables.port_of(Lid(13)), 1);  // two ways of one length: the lowest port
  EXPECT_EQ(plan.tables.port_of(Lid(15)), 0);
  EXPECT_EQ(plan.ports.at(1).peer, "b");
  EXPECT_FALSE(plan.ports.at(1).is_node());
  EXPECT_EQ(plan.ports.at(3).peer, "na");
  EXPECT_TRUE(plan.ports.at(3).is_node());
  EXPECT_EQ(plan.ports.at(4).peer, "");
}

TEST(TopologyTest, S000_32_routes_do_not_depend_on_the_order_of_the_file) {
  Topology reversed = ring();
  std::ranges::reverse(reversed.switches);
  std::ranges::reverse(reversed.nodes);
  std::ranges::reverse(reversed.cables);
  for (const char* name : {"a", "b", "c", "d"}) {
    const SwitchPlan one = plan_of(ring(), name).value();
    const SwitchPlan other = plan_of(reversed, name).value();
    for (std::uint16_t lid = 0; lid < 20; ++lid) {
      EXPECT_EQ(one.tables.port_of(Lid(lid)), other.tables.port_of(Lid(lid))) << name << lid;
    }
  }
}

// From any switch, following the tables reaches any node, in no more hops than there are switches.
TEST(TopologyTest, S000_32_the_tables_of_all_switches_agree) {
  const Topology topology = ring();
  for (const Topology::Switch& from : topology.switches) {
    for (const Topology::Node& to : topology.nodes) {
      std::string at = from.name;
      for (std::size_t hops = 0; at != to.name; ++hops) {
        ASSERT_LE(hops, topology.switches.size()) << from.name << " to " << to.name;
        const SwitchPlan plan = plan_of(topology, at).value();
        at = plan.ports.at(plan.tables.port_of(to.lid)).peer;
      }
    }
  }
}

TEST(TopologyTest, S000_32_a_node_beyond_a_missing_cable_has_no_port) {
  Topology topology = ring();
  topology.cables.resize(1);
  const SwitchPlan plan = plan_of(topology, "a").value();
  EXPECT_EQ(plan.tables.port_of(Lid(12)), 1);
  EXPECT_EQ(plan.tables.port_of(Lid(13)), 0);
  EXPECT_EQ(plan.tables.port_of(Lid(3)), 0);
}

TEST(TopologyTest, a_switch_that_is_not_in_it_is_an_error) {
  EXPECT_NE(plan_of(ring(), "e").error().text().find("[switches.e]"), std::string::npos);
}

}  // namespace topology_test
}  // namespace splitnic::fabric
