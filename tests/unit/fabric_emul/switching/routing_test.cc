// The routing algorithms: every node is reached, and where no deadlock is promised the lines
// that cells hold and want at once make no circle (Dally and Seitz, 1987).
#include "fabric_emul/routing/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/unit/fabric_emul/switching/routing_world.h"

namespace splitnic::fabric {
namespace routing_test {

using namespace routing_world;

std::map<PortOfSwitch, std::uint32_t> neighbours_of(const SubnetGraph& graph) {
  std::map<PortOfSwitch, std::uint32_t> neighbours;
  for (std::uint32_t at = 0; at < graph.switches.size(); ++at) {
    for (const auto& cable : graph.switches[at].cables) neighbours[{at, cable.port}] = cable.to;
  }
  return neighbours;
}

// The number of cables to the switch of a node; none: it is not reached.
std::optional<std::size_t> hops(const SubnetGraph& graph, const Tables& tables, std::uint32_t at,
                                const SubnetGraph::Node& node) {
  const auto neighbours = neighbours_of(graph);
  for (std::size_t count = 0; count <= graph.switches.size(); ++count) {
    const std::uint8_t port = tables[at].port_of(node.lid);
    if (at == node.at) return port == node.port ? std::optional(count) : std::nullopt;
    const auto next = neighbours.find({at, port});
    if (next == neighbours.end()) return std::nullopt;
    at = next->second;
  }
  return std::nullopt;
}

// Whether some line waits for itself: cells to every LID, from every switch, by these tables.
bool has_circle(const SubnetGraph& graph, const Tables& tables) {
  const auto neighbours = neighbours_of(graph);
  std::vector<Lid> lids;
  for (const auto& node : graph.nodes) lids.push_back(node.lid);
  for (const auto& one : graph.switches) lids.push_back(one.lid);
  std::map<PortOfSwitch, std::set<PortOfSwitch>> waits;
  std::map<PortOfSwitch, int> waited_for;
  for (const auto& [from, to] : neighbours) {
    for (const Lid lid : lids) {
      if (tables[from.first].port_of(lid) != from.second) continue;
      const PortOfSwitch next{to, tables[to].port_of(lid)};
      if (neighbours.contains(next) && waits[from].insert(next).second) ++waited_for[next];
    }
  }
  // Take away lines that nothing waits for, until none is left, or a circle.
  std::vector<PortOfSwitch> free;
  for (const auto& [line, to] : neighbours) {
    if (!waited_for.contains(line)) free.push_back(line);
  }
  std::size_t removed = 0;
  for (; !free.empty(); ++removed) {
    const PortOfSwitch line = free.back();
    free.pop_back();
    for (const PortOfSwitch& next : waits[line]) {
      if (--waited_for[next] == 0) free.push_back(next);
    }
  }
  return removed != neighbours.size();
}

TEST(RoutingTest, kinds_have_names) {
  for (const auto kind : {RoutingKind::kShortest, RoutingKind::kUpDown, RoutingKind::kFatTree,
                          RoutingKind::kLayered}) {
    EXPECT_EQ(parse_routing(name(kind)), kind);
  }
  EXPECT_FALSE(parse_routing("fast"));
}

TEST(RoutingTest, updown_has_no_deadlock_on_any_topology_and_reaches_all) {
  base::SeededRandom random(7);
  std::size_t with_circles = 0;
  for (int round = 0; round < 150; ++round) {
    const SubnetGraph graph = random_graph(random);
    const Tables tables = tables_of(graph, RoutingKind::kUpDown);
    EXPECT_FALSE(has_circle(graph, tables)) << "round " << round;
    for (std::uint32_t from = 0; from < graph.switches.size(); ++from) {
      for (const auto& node : graph.nodes) {
        EXPECT_TRUE(hops(graph, tables, from, node)) << "round " << round;
      }
    }
    with_circles += has_circle(graph, tables_of(graph, RoutingKind::kShortest)) ? 1 : 0;
  }
  // Shortest paths have circles on some of them: the search finds circles.
  EXPECT_GT(with_circles, 10U);
}

// All spines are roots: each carries a share, as by the routing for trees.
TEST(RoutingTest, updown_uses_all_spines_of_a_tree) {
  const SubnetGraph graph = graph_of(made("fattree:8"));
  const Tables tables = tables_of(graph, RoutingKind::kUpDown);
  EXPECT_FALSE(has_circle(graph, tables));
  const auto neighbours = neighbours_of(graph);
  std::map<std::uint32_t, std::size_t> destinations;  // by the spine
  const std::uint32_t far_leaf = 31;
  for (const auto& node : graph.nodes) {
    if (node.at >= 28) continue;  // of the pod of that leaf
    EXPECT_EQ(hops(graph, tables, far_leaf, node), 4U);
    const std::uint32_t above = neighbours.at({far_leaf, tables[far_leaf].port_of(node.lid)});
    ++destinations[neighbours.at({above, tables[above].port_of(node.lid)})];
  }
  ASSERT_EQ(destinations.size(), 16U);
  for (const auto& [spine, count] : destinations) EXPECT_EQ(count, 7U) << spine;
}

TEST(RoutingTest, shortest_paths_are_no_longer_than_others) {
  base::SeededRandom random(8);
  for (int round = 0; round < 20; ++round) {
    const SubnetGraph graph = random_graph(random);
    const Tables shortest = tables_of(graph, RoutingKind::kShortest);
    const Tables updown = tables_of(graph, RoutingKind::kUpDown);
    for (std::uint32_t from = 0; from < graph.switches.size(); ++from) {
      for (const auto& node : graph.nodes) {
        EXPECT_LE(hops(graph, shortest, from, node).value(),
                  hops(graph, updown, from, node).value());
      }
    }
  }
}

TEST(RoutingTest, a_ring_by_shortest_paths_has_a_circle) {
  const SubnetGraph ring = graph_of(made("ring:4"));
  EXPECT_TRUE(has_circle(ring, tables_of(ring, RoutingKind::kShortest)));
  EXPECT_FALSE(has_circle(ring, tables_of(ring, RoutingKind::kUpDown)));
}

TEST(RoutingTest, parts_that_have_come_apart_have_routes_each) {
  SubnetGraph graph = graph_of(made("ring:6"));
  for (const std::uint32_t at : {0U, 5U, 2U, 3U}) {  // cables 5-0 and 2-3
    std::erase_if(graph.switches[at].cables, [&](const auto& cable) {
      return cable.to == (at < 3 ? (at == 0 ? 5U : 3U) : (at == 5 ? 0U : 2U));
    });
  }
  for (const auto kind : {RoutingKind::kShortest, RoutingKind::kUpDown}) {
    const Tables tables = tables_of(graph, kind);
    EXPECT_TRUE(hops(graph, tables, 0, graph.nodes[2]));
    EXPECT_TRUE(hops(graph, tables, 5, graph.nodes[3]));
    EXPECT_FALSE(hops(graph, tables, 0, graph.nodes[3]));
    EXPECT_EQ(tables[0].port_of(graph.nodes[3].lid), 0);
  }
}

TEST(RoutingTest, S000_32_tables_do_not_depend_on_the_order_of_the_topology) {
  for (const char* form : {"fattree:4", "mesh:3x4"}) {
    const Topology topology = made(form);
    const Tables one = tables_of(graph_of(topology), topology.routing);
    const Tables other = tables_of(graph_of(reversed(topology)), topology.routing);
    for (std::size_t at = 0; at < one.size(); ++at) {
      for (std::uint16_t lid = 0; lid < 40; ++lid) {
        EXPECT_EQ(one[at].port_of(Lid(lid)), other[one.size() - 1 - at].port_of(Lid(lid)));
      }
    }
  }
}

// In the complete tree each node has its line down from the spines and from the switches below: so
// no two nodes share one, and a permutation has no contention on its way down.
TEST(RoutingTest, fat_tree_gives_each_destination_its_way_down) {
  const SubnetGraph graph = graph_of(made("fattree:8"));
  const Tables tables = tables_of(graph, RoutingKind::kFatTree);
  const auto neighbours = neighbours_of(graph);
  EXPECT_FALSE(has_circle(graph, tables));
  std::map<PortOfSwitch, std::set<Lid>> carried;  // by cable and direction
  const std::uint32_t far_leaf = 31;
  for (const auto& node : graph.nodes) {
    if (node.at >= 28) continue;  // of the pod of that leaf
    EXPECT_EQ(hops(graph, tables, far_leaf, node), 4U);
    for (std::uint32_t at = far_leaf; at != node.at;) {
      const PortOfSwitch line{at, tables[at].port_of(node.lid)};
      carried[line].insert(node.lid);
      at = neighbours.at(line);
    }
  }
  for (const auto& [line, lids] : carried) {
    const bool goes_down = line.first >= 64 || (line.first >= 32 && line.first < 60);
    if (goes_down) {
      EXPECT_EQ(lids.size(), 1U) << graph.switches[line.first].name;
    }
  }
  for (const auto& cable : graph.switches[far_leaf].cables) {
    EXPECT_EQ((carried[{far_leaf, cable.port}].size()), 28U);  // 112 destinations, 4 ways
  }
}

TEST(RoutingTest, fat_tree_routes_around_what_is_down) {
  SubnetGraph graph = graph_of(made("fattree:4"));
  const std::uint32_t spine = 16, leaf = 0;
  ASSERT_EQ(graph.switches[spine].name, "spine0");
  graph.switches[spine].cables.clear();
  const std::uint32_t above = graph.switches[leaf].cables[0].to;
  for (auto& one : graph.switches) {
    std::erase_if(one.cables, [&](const auto& cable) { return cable.to == spine; });
  }
  std::erase_if(graph.switches[leaf].cables, [&](const auto& c) { return c.to == above; });
  std::erase_if(graph.switches[above].cables, [&](const auto& c) { return c.to == leaf; });
  const Tables tables = tables_of(graph, RoutingKind::kFatTree);
  EXPECT_FALSE(has_circle(graph, tables));
  for (const auto& from : graph.nodes) {
    for (const auto& node : graph.nodes) EXPECT_TRUE(hops(graph, tables, from.at, node));
  }
}

TEST(RoutingTest, another_topology_is_not_a_fat_tree) {
  const auto refused = make_routing(RoutingKind::kFatTree)->tables(graph_of(made("ring:4")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "not a fat tree: sw1 and sw2 both have nodes, and a cable joins them");
}

TEST(RoutingTest, a_plan_has_the_routing_of_its_topology) {
  Topology ring = made("ring:5");
  ASSERT_EQ(ring.routing, RoutingKind::kUpDown);
  const Tables tables = tables_of(graph_of(ring), RoutingKind::kUpDown);
  bool differs = false;
  for (std::size_t at = 0; at < ring.switches.size(); ++at) {
    ring.routing = RoutingKind::kUpDown;
    const SwitchPlan plan = plan_of(ring, ring.switches[at].name).value();
    ring.routing = RoutingKind::kShortest;
    const SwitchPlan other = plan_of(ring, ring.switches[at].name).value();
    for (const auto& node : ring.nodes) {
      EXPECT_EQ(plan.tables.port_of(node.lid), tables[at].port_of(node.lid));
      differs |= plan.tables.port_of(node.lid) != other.tables.port_of(node.lid);
    }
  }
  EXPECT_TRUE(differs);
  ring.routing = RoutingKind::kFatTree;
  EXPECT_NE(plan_of(ring, "sw1").error().text().find("not a fat tree"), std::string::npos);
}

}  // namespace routing_test
}  // namespace splitnic::fabric
