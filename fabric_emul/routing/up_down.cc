#include "fabric_emul/routing/up_down.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <tuple>

#include "fabric_emul/routing/levels.h"
#include "fabric_emul/routing/up_down_tables.h"

namespace splitnic::fabric {
namespace {

using Indices = std::vector<std::uint32_t>;  // of switches

struct Parts {
  Indices part_of;               // by the index of the switch
  std::vector<Indices> centres;  // of each part, by ascending LID
};

// By the index of the switch: the distance of the farthest switch with nodes.
Indices farthest_nodes(const SubnetGraph& graph) {
  const Indices levels = levels_of(graph);
  Indices farthest(graph.switches.size());
  for (std::uint32_t at = 0; at < farthest.size(); ++at) {
    const Indices distances = distances_from(graph, {at});
    for (std::size_t other = 0; other < distances.size(); ++other) {
      if (levels[other] != 0 || distances[other] == kNotReached) continue;
      farthest[at] = std::max(farthest[at], distances[other]);
    }
  }
  return farthest;
}

Parts parts_of(const SubnetGraph& graph) {
  const Indices farthest = farthest_nodes(graph);
  Parts parts{.part_of = Indices(graph.switches.size(), kNotReached), .centres = {}};
  for (std::uint32_t first = 0; first < graph.switches.size(); ++first) {
    if (parts.part_of[first] != kNotReached) continue;
    const Indices reached = distances_from(graph, {first});
    Indices& centre = parts.centres.emplace_back();
    for (std::uint32_t at = first; at < graph.switches.size(); ++at) {
      if (reached[at] == kNotReached) continue;
      parts.part_of[at] = first;
      if (!centre.empty() && farthest[at] < farthest[centre.front()]) centre.clear();
      if (centre.empty() || farthest[at] == farthest[centre.front()]) centre.push_back(at);
    }
    std::ranges::sort(centre, {}, [&](std::uint32_t at) { return graph.switches[at].lid; });
  }
  return parts;
}

std::vector<ForwardingTables> tables_by_roots(const SubnetGraph& graph, const Indices& roots,
                                              TablesPer per) {
  const Indices depths = distances_from(graph, roots);
  Indices from_the_bottom(graph.switches.size());
  std::iota(from_the_bottom.begin(), from_the_bottom.end(), 0U);
  std::ranges::sort(from_the_bottom, std::greater{}, [&](std::uint32_t at) {
    return std::tuple(depths[at], graph.switches[at].lid);
  });
  UpDownOrder order{.heights = Indices(depths.size()),
                    .divisors = divisors_of(graph, levels_of(graph))};
  for (std::uint32_t i = 0; i < from_the_bottom.size(); ++i) {
    order.heights[from_the_bottom[i]] = i;
  }
  return up_down_tables(graph, order, per);
}

bool reaches_all_nodes(const SubnetGraph& graph, const Parts& parts,
                       const std::vector<ForwardingTables>& tables) {
  for (std::size_t at = 0; at < tables.size(); ++at) {
    for (const SubnetGraph::Node& node : graph.nodes) {
      if (parts.part_of[at] == parts.part_of[node.at] && tables[at].port_of(node.lid) == 0) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

base::Result<std::vector<ForwardingTables>> UpDownRouting::tables(const SubnetGraph& graph) const {
  const Parts parts = parts_of(graph);
  Indices centres, firsts;
  for (const Indices& centre : parts.centres) {
    centres.insert(centres.end(), centre.begin(), centre.end());
    firsts.push_back(centre.front());
  }
  auto tables = tables_by_roots(graph, centres, per_);
  if (reaches_all_nodes(graph, parts, tables)) return tables;
  return tables_by_roots(graph, firsts, per_);
}

}  // namespace splitnic::fabric
