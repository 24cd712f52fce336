// A table for each input: what comes from above goes down, all else takes the shortest way that is
// left, and the inputs of a switch take ways of one length in turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tests/unit/fabric_emul/switching/routing_world.h"
#include "tests/unit/fabric_emul/switching/subnet_world.h"

namespace splitnic::fabric {
namespace input_tables_test {

using namespace routing_world;

// From each port of a cable to the one at its other end.
using Peers = std::map<PortOfSwitch, PortOfSwitch>;

// Of several cables between two switches the first is the first at both.
Peers peers_of(const SubnetGraph& graph) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint8_t>> ports;
  for (std::uint32_t at = 0; at < graph.switches.size(); ++at) {
    for (const auto& cable : graph.switches[at].cables) ports[{at, cable.to}].push_back(cable.port);
  }
  Peers peers;
  for (const auto& [ends, here] : ports) {
    const auto& there = ports.at({ends.second, ends.first});
    for (std::size_t i = 0; i < here.size(); ++i) {
      peers[{ends.first, here[i]}] = {ends.second, there[i]};
    }
  }
  return peers;
}

// The cables on the way of a cell that comes by this input to a node; nothing: it does not arrive.
std::optional<std::vector<PortOfSwitch>> way(const SubnetGraph& graph, const Tables& tables,
                                             const Peers& peers, PortOfSwitch from,
                                             const SubnetGraph::Node& to) {
  std::vector<PortOfSwitch> lines;
  while (lines.size() <= 2 * graph.switches.size()) {
    const std::uint8_t port = tables[from.first].port_of(to.lid, from.second);
    if (from.first == to.at) return port == to.port ? std::optional(lines) : std::nullopt;
    const auto next = peers.find({from.first, port});
    if (next == peers.end()) return std::nullopt;
    lines.emplace_back(from.first, port);
    from = next->second;
  }
  return std::nullopt;
}

// Calls visit(from, to, lines) for each pair of nodes; lines is nothing if a cell does not arrive.
template <class Visit>
void each_way(const SubnetGraph& graph, const Tables& tables, Visit&& visit) {
  const Peers peers = peers_of(graph);
  for (const auto& from : graph.nodes) {
    for (const auto& to : graph.nodes) {
      if (from.lid == to.lid) continue;
      visit(from, to, way(graph, tables, peers, {from.at, from.port}, to));
    }
  }
}

// Whether a line waits for itself, by the ways between all pairs of nodes.
bool has_circle(const SubnetGraph& graph, const Tables& tables) {
  std::map<PortOfSwitch, std::set<PortOfSwitch>> waits;
  each_way(graph, tables, [&](const auto&, const auto&, const auto& lines) {
    for (std::size_t i = 1; i < lines->size(); ++i) waits[(*lines)[i - 1]].insert((*lines)[i]);
  });
  // Those that wait for nothing end, and then those that waited for them only.
  for (bool has_removed = true; has_removed;) {
    has_removed = std::erase_if(waits, [&](const auto& one) {
                    return std::ranges::none_of(
                        one.second, [&](const auto& next) { return waits.contains(next); });
                  }) != 0;
  }
  return !waits.empty();
}

struct Lengths {
  std::size_t all = 0, unreached = 0;
};

Lengths lengths_of(const SubnetGraph& graph, const Tables& tables) {
  Lengths out;
  each_way(graph, tables, [&](const auto&, const auto&, const auto& lines) {
    out.unreached += lines ? 0 : 1;
    out.all += lines ? lines->size() : 0;
  });
  return out;
}

TEST(InputTablesTest, S000_36_updown_has_shorter_ways_and_no_deadlock_on_any_topology) {
  base::SeededRandom random(9);
  std::size_t shorter = 0, with_circles = 0;
  for (int round = 0; round < 150; ++round) {
    const SubnetGraph graph = random_graph(random);
    const Tables per_input = tables_of(graph, RoutingKind::kUpDown, TablesPer::kInput);
    const Lengths ours = lengths_of(graph, per_input);
    const Lengths one = lengths_of(graph, tables_of(graph, RoutingKind::kUpDown));
    const Tables shortest = tables_of(graph, RoutingKind::kShortest, TablesPer::kInput);
    ASSERT_EQ(ours.unreached, 0U) << "round " << round;
    EXPECT_FALSE(has_circle(graph, per_input)) << "round " << round;
    EXPECT_LE(ours.all, one.all) << "round " << round;
    EXPECT_GE(ours.all, lengths_of(graph, shortest).all) << "round " << round;
    shorter += ours.all < one.all ? 1 : 0;
    with_circles += has_circle(graph, shortest) ? 1 : 0;
  }
  EXPECT_GE(shorter, 5U);
  EXPECT_GT(with_circles, 10U) << "the search finds circles";
}

TEST(InputTablesTest, S000_36_shortest_ways_stay_shortest_for_each_input) {
  base::SeededRandom random(10);
  for (int round = 0; round < 30; ++round) {
    const SubnetGraph graph = random_graph(random);
    const Lengths ours =
        lengths_of(graph, tables_of(graph, RoutingKind::kShortest, TablesPer::kInput));
    EXPECT_EQ(ours.unreached, 0U);
    EXPECT_EQ(ours.all, lengths_of(graph, tables_of(graph, RoutingKind::kShortest)).all);
  }
}

// With one table all nodes of a leaf send to a node by one spine.
TEST(InputTablesTest, S000_36_the_inputs_of_a_leaf_share_its_ways_up) {
  const SubnetGraph graph = graph_of(made("fattree:8"));
  for (const auto kind : {RoutingKind::kUpDown, RoutingKind::kFatTree}) {
    std::map<TablesPer, std::set<PortOfSwitch>> first_lines;
    for (const auto per : {TablesPer::kSwitch, TablesPer::kInput}) {
      const Tables tables = tables_of(graph, kind, per);
      const auto& to = graph.nodes.front();
      each_way(graph, tables, [&](const auto& from, const auto& node, const auto& lines) {
        if (from.at == graph.nodes.back().at && node.lid == to.lid) {
          ASSERT_TRUE(lines);
          EXPECT_EQ(lines->size(), 4U);
          first_lines[per].insert(lines->front());
        }
      });
      EXPECT_FALSE(has_circle(graph, tables));
    }
    EXPECT_EQ(first_lines[TablesPer::kSwitch].size(), 1U);
    EXPECT_EQ(first_lines[TablesPer::kInput].size(), 4U);
  }
}

TEST(InputTablesTest, tables_do_not_depend_on_the_order_of_the_topology) {
  for (const char* form : {"fattree:4", "mesh:3x4"}) {
    const Topology topology = made(form);
    const Tables one = tables_of(graph_of(topology), topology.routing, TablesPer::kInput);
    const Tables other =
        tables_of(graph_of(reversed(topology)), topology.routing, TablesPer::kInput);
    for (std::size_t at = 0; at < one.size(); ++at) {
      EXPECT_EQ(check_of(one[at]), check_of(other[one.size() - 1 - at]));
    }
  }
}

// Two leaves, s1 with n1 to n4 and s2 with n5 and n6, below the spines s3 and s4.
Topology two_spines(TablesPer per) {
  Topology tree;
  tree.routing = RoutingKind::kUpDown;
  tree.tables_per = per;
  for (std::uint16_t i = 1; i <= 4; ++i) {
    tree.switches.push_back({"s" + std::to_string(i), Lid(i)});
  }
  for (std::uint16_t i = 1; i <= 6; ++i) {
    const auto port = static_cast<std::uint8_t>(3 + (i <= 4 ? i : i - 4));
    tree.nodes.push_back({"n" + std::to_string(i),
                          Lid(static_cast<std::uint16_t>(100 + i)),
                          {i <= 4 ? "s1" : "s2", port}});
  }
  tree.cables = {{{"s1", 1}, {"s3", 1}},
                 {{"s1", 2}, {"s4", 1}},
                 {{"s2", 1}, {"s3", 2}},
                 {{"s2", 2}, {"s4", 2}}};
  return tree;
}

// The row's test: the same topology with both kinds of tables, which a manager sets in switches
// that have none. Returns the cells that left s1 by each of its cables.
std::pair<std::uint64_t, std::uint64_t> cells_by_cables(TablesPer per) {
  subnet_world::World world(two_spines(per));
  world.start_all("s1", true);
  EXPECT_FALSE(world.reaches("n1", "n5"));
  EXPECT_TRUE(
      world.run_until(std::chrono::seconds(3), [&] { return world.has_tables_without({}); }));
  world.run(std::chrono::seconds(1));
  EXPECT_TRUE(world.all_reach());
  for (auto& [place, wire] : world.wires) wire->hops.clear();
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(world.reaches("n1", "n5"));
    EXPECT_TRUE(world.reaches("n2", "n5"));
  }
  return {world.wires.at({"s1", 1})->hops.size(), world.wires.at({"s1", 2})->hops.size()};
}

TEST(InputTablesTest, S000_36_two_inputs_leave_by_two_outputs_with_a_table_each) {
  const auto one = cells_by_cables(TablesPer::kSwitch);
  EXPECT_EQ(std::max(one.first, one.second), 20U);
  EXPECT_EQ(std::min(one.first, one.second), 0U);
  EXPECT_EQ(cells_by_cables(TablesPer::kInput), (std::pair<std::uint64_t, std::uint64_t>(10, 10)));
}

TEST(InputTablesTest, S000_36_all_inputs_follow_what_is_up) {
  using namespace std::chrono_literals;
  subnet_world::World world(two_spines(TablesPer::kInput));
  world.start_all("s1");
  world.run(2s);
  world.set_cut(0, true);  // s1 - s3
  ASSERT_TRUE(world.run_until(2s, [&] { return world.has_tables_without({0}); }));
  EXPECT_TRUE(world.all_reach());
  world.kill("s1");
  world.start("s1", 5);
  world.set_cut(0, false);
  ASSERT_TRUE(world.run_until(5s, [&] { return world.has_tables_without({}); }));
  EXPECT_TRUE(world.all_reach());
  EXPECT_EQ(world.same_port_drops(), 0U);
}

}  // namespace input_tables_test
}  // namespace splitnic::fabric
