// Graphs of subnets, and the tables of each routing for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "fabric_emul/routing/routing.h"
#include "fabric_emul/simulation/topology_maker.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric::routing_world {

using Tables = std::vector<ForwardingTables>;
using PortOfSwitch = std::pair<std::uint32_t, std::uint8_t>;

inline Topology made(std::string_view form) { return simulation::make_topology(form).value(); }

// The same subnet, whose parts are listed from the last to the first.
inline Topology reversed(Topology topology) {
  std::ranges::reverse(topology.switches);
  std::ranges::reverse(topology.nodes);
  std::ranges::reverse(topology.cables);
  return topology;
}

inline Tables tables_of(const SubnetGraph& graph, RoutingKind kind,
                        TablesPer per = TablesPer::kSwitch) {
  return make_routing(kind, per)->tables(graph).value();
}

// Switches in a random tree, and cables besides; nodes at some of the switches.
inline SubnetGraph random_graph(base::Random& random) {
  SubnetGraph graph;
  const auto count = static_cast<std::uint32_t>(2 + random.below(14));
  std::vector<std::uint8_t> ports(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    graph.switches.push_back(
        {"s" + std::to_string(i), Lid(static_cast<std::uint16_t>(100 - i)), {}});
  }
  const auto join = [&](std::uint32_t a, std::uint32_t b) {
    if (a == b || ports[a] > 25 || ports[b] > 25) return;
    graph.switches[a].cables.push_back({++ports[a], b});
    graph.switches[b].cables.push_back({++ports[b], a});
  };
  const auto any = [&](std::uint32_t below) {
    return static_cast<std::uint32_t>(random.below(below));
  };
  for (std::uint32_t i = 1; i < count; ++i) join(i, any(i));
  for (std::uint64_t i = random.below(2 * count); i > 0; --i) join(any(count), any(count));
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 1 && random.below(4) == 0) continue;
    const auto lid = static_cast<std::uint16_t>(200 + i);
    graph.nodes.push_back({Lid(lid), i, ++ports[i]});
  }
  return graph;
}

}  // namespace splitnic::fabric::routing_world
