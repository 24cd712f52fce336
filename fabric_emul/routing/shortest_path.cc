#include "fabric_emul/routing/shortest_path.h"

#include <cstddef>

#include "fabric_emul/routing/inputs.h"
#include "fabric_emul/routing/levels.h"

namespace splitnic::fabric {

base::Result<std::vector<ForwardingTables>> ShortestPathRouting::tables(
    const SubnetGraph& graph) const {
  const auto inputs = inputs_of(graph, per_);
  std::vector<std::vector<SubnetGraph::Node>> nodes_at(graph.switches.size());
  for (const SubnetGraph::Node& node : graph.nodes) nodes_at[node.at].push_back(node);
  std::vector<ForwardingTables> tables(graph.switches.size(), ForwardingTables(per_));
  for (std::uint32_t target = 0; target < tables.size(); ++target) {
    const auto distances = distances_from(graph, {target});
    for (std::uint32_t at = 0; at < tables.size(); ++at) {
      std::vector<std::uint8_t> ways;
      for (const SubnetGraph::Cable& cable : graph.switches[at].cables) {
        if (distances[at] != kNotReached && distances[cable.to] + 1 == distances[at]) {
          ways.push_back(cable.port);
        }
      }
      set_ways(tables[at], inputs[at], graph.switches[target].lid, ways, 0);
      for (const SubnetGraph::Node& node : nodes_at[target]) {
        if (at == target) {
          set_ways(tables[at], inputs[at], node.lid, {&node.port, 1}, 0);
        } else {
          set_ways(tables[at], inputs[at], node.lid, ways, node.path);
        }
      }
    }
  }
  return tables;
}

}  // namespace splitnic::fabric
