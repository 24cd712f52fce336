#include "fabric_emul/routing/inputs.h"

#include <algorithm>
#include <cstddef>

namespace splitnic::fabric {

std::vector<Inputs> inputs_of(const SubnetGraph& graph, TablesPer per) {
  std::vector<Inputs> all(graph.switches.size(), Inputs{kNoInput});
  if (per == TablesPer::kSwitch) return all;
  for (std::size_t at = 0; at < all.size(); ++at) {
    for (const SubnetGraph::Cable& cable : graph.switches[at].cables) all[at].push_back(cable.port);
  }
  for (const SubnetGraph::Node& node : graph.nodes) {
    if (node.path == 0) all[node.at].push_back(node.port);
  }
  for (Inputs& inputs : all) std::ranges::sort(inputs);
  return all;
}

void set_ways(ForwardingTables& tables, const Inputs& inputs, Lid lid,
              std::span<const std::uint8_t> ways, std::size_t first) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    tables.of(inputs[i]).set(lid, ways.empty() ? 0 : ways[(first + i) % ways.size()]);
  }
}

}  // namespace splitnic::fabric
