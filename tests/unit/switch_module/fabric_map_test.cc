// The map of a fabric: the topology file next to the reports of a sweep.
#include "switch_module/switch_fabric_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace splitnic::fabric_switch {
namespace fabric_map_test {

using fabric::Lid;
using fabric::SmpNode;

// sw1 and sw2, two cables between them, and a node at port 3 of each.
fabric::Topology two_switches() {
  fabric::Topology t;
  t.switches = {{"sw1", Lid(1)}, {"sw2", Lid(2)}};
  t.cables = {{{"sw1", 1}, {"sw2", 1}}, {{"sw1", 2}, {"sw2", 2}}};
  t.nodes = {{"n1", Lid(11), {"sw1", 3}}, {"n2", Lid(12), {"sw2", 3}}};
  return t;
}

SmpNode report(Lid lid, std::string name, std::vector<SmpNode::PortInfo> ports) {
  SmpNode out;
  out.lid = lid;
  out.name = std::move(name);
  out.port_count = ports.size();
  std::ranges::copy(ports, out.ports.begin());
  return out;
}

std::vector<std::string> states_of(const auto& all) {
  std::vector<std::string> out;
  for (const auto& one : all) out.push_back(one.state);
  return out;
}

using States = std::vector<std::string>;
using enum SmpNode::PortState;

TEST(SwitchMapTest, S004_19_all_is_up) {
  const fabric::SubnetView::Reports found{
      {"sw1", report(Lid(1), "sw1", {{1, kUp, Lid(2)}, {2, kUp, Lid(2)}, {3, kUp, Lid(11)}})},
      {"sw2", report(Lid(2), "sw2", {{1, kUp, Lid(1)}, {2, kUp, Lid(1)}, {3, kUp, Lid(12)}})}};
  const auto map = map_of(two_switches(), found, {}, {}, "sw1");
  EXPECT_EQ(map.manager, "sw1");
  EXPECT_EQ(states_of(map.switches), (States{"up", "up"}));
  EXPECT_EQ(states_of(map.nodes), (States{"up", "up"}));
  EXPECT_EQ(states_of(map.cables), (States{"up", "up"}));
  EXPECT_EQ(map.cables[1].b.of_switch, "sw2");
  EXPECT_EQ(map.cables[1].b.port, 2U);
  EXPECT_EQ(map.nodes[1].lid, 12U);
}

TEST(SwitchMapTest, S004_19_the_worse_end_of_a_cable_counts) {
  const fabric::SubnetView::Reports found{
      {"sw1", report(Lid(1), "sw1", {{1, kHeld, Lid(2)}, {2, kUp, Lid(2)}, {3, kUp, Lid(99)}})},
      {"sw2", report(Lid(2), "sw2", {{1, kUp, Lid(1)}, {3, kDown, Lid(12)}})}};
  const auto map = map_of(two_switches(), found, {}, {}, "sw1");
  EXPECT_EQ(states_of(map.cables), (States{"held", "down"})) << "port 2 of sw2 is not reported";
  EXPECT_EQ(states_of(map.nodes), (States{"refused", "down"}));
}

TEST(SwitchMapTest, S004_19_a_silent_switch_is_not_known) {
  const fabric::SubnetView::Reports found{
      {"sw1", report(Lid(1), "sw1", {{1, kUp, Lid(2)}, {2, kDown, Lid(2)}, {3, kUp, Lid(11)}})}};
  const auto map = map_of(two_switches(), found, {}, {}, "sw1");
  EXPECT_EQ(states_of(map.switches), (States{"up", "silent"}));
  EXPECT_EQ(states_of(map.cables), (States{"unknown", "down"}));
  EXPECT_EQ(states_of(map.nodes), (States{"up", "unknown"}));
}

TEST(SwitchMapTest, S004_19_nodes_without_a_lid_and_the_names_of_programs) {
  const fabric::SubnetView::Reports found{{"sw1", report(Lid(1), "sw1", {{3, kUp, Lid(11)}})},
                                          {"sw2", report(Lid(2), "sw2", {{3, kUnset, Lid(12)}})}};
  const auto map = map_of(two_switches(), found, {{{"sw1", 3}, "laptop"}}, {}, "sw1");
  EXPECT_EQ(states_of(map.nodes), (States{"up", "no LID"}));
  EXPECT_EQ(map.nodes[0].program, "laptop");
  EXPECT_EQ(map.nodes[1].program, "");
}

TEST(SwitchMapTest, S004_19_each_end_of_a_cable_has_its_load) {
  const fabric::PortLoads::CellsPerSecond loads{
      {{"sw1", 1}, 70}, {{"sw2", 1}, 0}, {{"sw2", 2}, 9}, {{"sw1", 3}, 5}, {{"sw9", 3}, 4}};
  const auto map = map_of(two_switches(), {}, {}, loads, "sw1");
  EXPECT_EQ(map.cables[0].a.cells_per_second, 70U);
  EXPECT_EQ(map.cables[0].b.cells_per_second, 0U);
  EXPECT_EQ(map.cables[1].a.cells_per_second, std::nullopt);
  EXPECT_EQ(map.cables[1].b.cells_per_second, 9U);
  EXPECT_EQ(map.nodes[0].at.cells_per_second, 5U);
  EXPECT_EQ(map.nodes[1].at.cells_per_second, std::nullopt);
}

}  // namespace fabric_map_test
}  // namespace splitnic::fabric_switch
