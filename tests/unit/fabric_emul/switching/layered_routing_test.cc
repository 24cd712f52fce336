// Layered routing: all routes are shortest, none dips more than once, and with the layers that
// switches put cells on no lines wait for each other in a circle.
#include "fabric_emul/routing/layered.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "fabric_emul/routing/levels.h"
#include "tests/unit/fabric_emul/switching/routing_world.h"

namespace splitnic::fabric {
namespace layered_routing_test {

using namespace routing_world;

// A line by the switch and port that it leaves, and the layer on it.
using Channel = std::tuple<std::uint32_t, std::uint8_t, unsigned>;
using Waits = std::map<Channel, std::set<Channel>>;

// Whether a route dips at `at`. Not that of the product.
bool has_dip(const SubnetGraph& graph, std::uint32_t before, std::uint32_t at, std::uint32_t next) {
  const auto lid = [&](std::uint32_t of) { return graph.switches[of].lid.value; };
  return lid(before) < lid(at) && lid(next) < lid(at);
}

// All routes by these tables, from each switch and input to each LID.
struct Routes {
  Routes(const SubnetGraph& graph_, const Tables& tables_, bool are_layered_)
      : graph(graph_), tables(tables_), are_layered(are_layered_) {
    std::map<Lid, std::uint32_t> targets;
    for (std::uint32_t at = 0; at < graph.switches.size(); ++at) {
      targets[graph.switches[at].lid] = at;
    }
    for (const auto& node : graph.nodes) targets[node.lid] = node.at;
    for (const auto& [lid, target] : targets) {
      const auto distances = distances_from(graph, {target});
      for (std::uint32_t from = 0; from < graph.switches.size(); ++from) {
        follow(from, kNoInput, lid, target, distances[from]);
        for (const auto& node : graph.nodes) {
          if (node.at == from) follow(from, node.port, lid, target, distances[from]);
        }
      }
    }
  }

  void follow(std::uint32_t from, std::uint8_t input, Lid lid, std::uint32_t target,
              std::uint32_t length) {
    std::optional<Channel> last;
    std::uint32_t before = from, at = from, hops = 0;
    unsigned dips = 0;
    for (; at != target && hops <= graph.switches.size(); ++hops) {
      const std::uint8_t port = tables[at].port_of(lid, input);
      const auto& cables = graph.switches[at].cables;
      const auto cable = std::ranges::find(cables, port, &SubnetGraph::Cable::port);
      if (cable == cables.end()) break;
      if (hops > 0 && has_dip(graph, before, at, cable->to)) ++dips;
      const Channel here{at, port, are_layered ? dips : 0};
      if (last) waits[*last].insert(here);
      waits[here];
      last = here;
      before = at;
      at = cable->to;
      input = std::ranges::find_if(graph.switches[at].cables, [&](const auto& back) {
                return back.to == before;
              })->port;
    }
    are_shortest &= at == target && hops == length;
    most_dips = std::max(most_dips, dips);
  }

  // Takes away what nothing waits for, until nothing is left, or a circle.
  bool have_circle() const {
    std::map<Channel, std::size_t> waited_for;
    for (const auto& [from, next] : waits) {
      for (const Channel& one : next) ++waited_for[one];
    }
    std::vector<Channel> free;
    for (const auto& [one, next] : waits) {
      if (!waited_for.contains(one)) free.push_back(one);
    }
    std::size_t removed = 0;
    for (; !free.empty(); ++removed) {
      const Channel one = free.back();
      free.pop_back();
      for (const Channel& next : waits.at(one)) {
        if (--waited_for[next] == 0) free.push_back(next);
      }
    }
    return removed != waits.size();
  }

  const SubnetGraph& graph;
  const Tables& tables;
  const bool are_layered;
  Waits waits;
  bool are_shortest = true;
  unsigned most_dips = 0;
};

// The dips that tables of shortest paths need at least: by all shortest paths, with the
// direction in which they come to a switch.
unsigned dips_needed(const SubnetGraph& graph) {
  unsigned most = 0;
  for (std::uint32_t target = 0; target < graph.switches.size(); ++target) {
    const auto distances = distances_from(graph, {target});
    // Of what is at a switch and came from there: memoised, behind the target.
    std::map<std::pair<std::uint32_t, std::uint32_t>, unsigned> known;
    const auto least = [&](auto&& self, std::uint32_t before, std::uint32_t at) -> unsigned {
      if (at == target) return 0;
      const auto found = known.find({before, at});
      if (found != known.end()) return found->second;
      unsigned fewest = ~0U;
      for (const auto& cable : graph.switches[at].cables) {
        if (distances[cable.to] + 1 != distances[at]) continue;
        const bool dips = before != at && has_dip(graph, before, at, cable.to);
        fewest = std::min(fewest, self(self, at, cable.to) + (dips ? 1 : 0));
      }
      return known[{before, at}] = fewest;
    };
    for (std::uint32_t at = 0; at < graph.switches.size(); ++at) {
      if (distances[at] != kNotReached) most = std::max(most, least(least, at, at));
    }
  }
  return most;
}

void expect_safe(const SubnetGraph& graph, TablesPer per, const std::string& what) {
  const Tables tables = tables_of(graph, RoutingKind::kLayered, per);
  const Routes routes(graph, tables, true);
  EXPECT_TRUE(routes.are_shortest) << what;
  EXPECT_LE(routes.most_dips, 1U) << what;
  EXPECT_FALSE(routes.have_circle()) << what;
}

bool has_circle_without_layers(const SubnetGraph& graph) {
  return Routes(graph, tables_of(graph, RoutingKind::kLayered), false).have_circle();
}

TEST(LayeredRoutingTest, S000_41_rings_have_shortest_routes_without_deadlock) {
  for (unsigned count = 3; count <= 9; ++count) {
    const std::string form = "ring:" + std::to_string(count);
    const SubnetGraph ring = graph_of(made(form));
    expect_safe(ring, TablesPer::kSwitch, form);
    expect_safe(ring, TablesPer::kInput, form);
    if (count >= 5) {
      EXPECT_TRUE(has_circle_without_layers(ring)) << form;
    }
  }
}

TEST(LayeredRoutingTest, S000_41_meshes_and_tori_by_rows_have_shortest_routes_without_deadlock) {
  for (const char* form : {"mesh:1x5", "mesh:3x4", "mesh:5x5", "fattree:4"}) {
    expect_safe(graph_of(made(form)), TablesPer::kSwitch, form);
    expect_safe(graph_of(made(form)), TablesPer::kInput, form);
  }
  for (const char* form : {"torus:3x3", "torus:4x4", "torus:3x6", "torus:5x5", "torus:6x7"}) {
    const SubnetGraph torus = graph_of(made(form));
    expect_safe(torus, TablesPer::kSwitch, form);
    expect_safe(torus, TablesPer::kInput, form);
  }
  EXPECT_TRUE(has_circle_without_layers(graph_of(made("torus:5x5"))));
}

// There are tables exactly where some shortest paths have one dip at most.
TEST(LayeredRoutingTest, S000_41_any_topology_has_safe_tables_or_an_error) {
  base::SeededRandom random(41);
  unsigned refused = 0, needed_layers = 0;
  for (int round = 0; round < 300; ++round) {
    const SubnetGraph graph = random_graph(random);
    const unsigned dips = dips_needed(graph);
    const auto tables = make_routing(RoutingKind::kLayered)->tables(graph);
    ASSERT_EQ(static_cast<bool>(tables), dips <= 1) << "round " << round;
    if (!tables) {
      ++refused;
      continue;
    }
    expect_safe(graph, TablesPer::kSwitch, "round " + std::to_string(round));
    needed_layers += has_circle_without_layers(graph) ? 1 : 0;
  }
  EXPECT_GT(refused, 10U);
  EXPECT_GT(needed_layers, 10U);
}

// From each switch of a torus its four cables carry about the same number of the 15 destinations.
TEST(LayeredRoutingTest, S000_41_equal_ways_carry_equal_shares) {
  const SubnetGraph torus = graph_of(made("torus:4x4"));
  const Tables tables = tables_of(torus, RoutingKind::kLayered);
  for (std::uint32_t at = 0; at < tables.size(); ++at) {
    std::map<std::uint8_t, unsigned> destinations;
    for (const auto& node : torus.nodes) {
      if (node.at != at) ++destinations[tables[at].port_of(node.lid)];
    }
    for (std::uint8_t port = 1; port <= 4; ++port) {
      EXPECT_GE(destinations[port], 2U) << torus.switches[at].name;
      EXPECT_LE(destinations[port], 5U) << torus.switches[at].name;
    }
  }
}

TEST(LayeredRoutingTest, S000_41_two_dips_are_an_error_with_advice) {
  Topology line = made("mesh:1x6");
  const std::uint16_t lids[] = {1, 4, 2, 5, 3, 6};  // up, down, up, down: 2 dips
  for (std::size_t i = 0; i < 6; ++i) line.switches[i].lid = Lid(lids[i]);
  const auto refused = make_routing(RoutingKind::kLayered)->tables(graph_of(line));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "each shortest route from sw5 to sw1 goes down and up again more than once: number the "
            "switches so that LIDs ascend along the rows or around the ring, or use updown");
}

// Of equal ways each LID of a port takes another one, and no combination of them closes a circle.
TEST(LayeredRoutingTest, S000_41_the_lids_of_a_port_take_equal_ways_in_dip) {
  Topology torus = made("torus:4x4");
  for (std::size_t i = 0; i < torus.nodes.size(); ++i) {
    torus.nodes[i].lid = Lid(static_cast<std::uint16_t>(64 + 4 * i));
    torus.nodes[i].lmc = 2;
  }
  const SubnetGraph graph = graph_of(torus);
  expect_safe(graph, TablesPer::kSwitch, "torus:4x4");
  expect_safe(graph, TablesPer::kInput, "torus:4x4");
  const Tables tables = tables_of(graph, RoutingKind::kLayered);
  std::set<std::uint8_t> ways;
  for (std::uint16_t path = 0; path < 4; ++path) {
    ways.insert(tables[0].port_of(Lid(static_cast<std::uint16_t>(64 + 4 * 5 + path))));
  }
  EXPECT_EQ(ways, (std::set<std::uint8_t>{1, 3}));  // to sw6: a column and a row further
}

TEST(LayeredRoutingTest, S000_32_layered_tables_do_not_depend_on_the_order_of_the_topology) {
  const Topology torus = made("torus:4x5");
  const Tables one = tables_of(graph_of(torus), RoutingKind::kLayered);
  const Tables other = tables_of(graph_of(reversed(torus)), RoutingKind::kLayered);
  for (std::size_t at = 0; at < one.size(); ++at) {
    for (std::uint16_t lid = 0; lid <= 40; ++lid) {
      EXPECT_EQ(one[at].port_of(Lid(lid)), other[one.size() - 1 - at].port_of(Lid(lid)));
    }
  }
}

}  // namespace layered_routing_test
}  // namespace splitnic::fabric
