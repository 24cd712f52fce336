#include "fabric_emul/routing/shortest_path.h"

#include <cstddef>

namespace splitnic::fabric {
namespace {

// The first port on the way to each switch, 0: none. Breadth first, ports in ascending order.
std::vector<std::uint8_t> first_ports(const SubnetGraph& graph, std::uint32_t from) {
  std::vector<std::uint8_t> first(graph.switches.size());
  std::vector<std::uint32_t> reached{from};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::uint32_t at = reached[i];
    for (const SubnetGraph::Cable& cable : graph.switches[at].cables) {
      if (cable.to == from || first[cable.to] != 0) continue;
      first[cable.to] = at == from ? cable.port : first[at];
      reached.push_back(cable.to);
    }
  }
  return first;
}

}  // namespace

base::Result<std::vector<ForwardingTable>> ShortestPathRouting::tables(
    const SubnetGraph& graph) const {
  std::vector<ForwardingTable> tables(graph.switches.size());
  for (std::uint32_t at = 0; at < tables.size(); ++at) {
    const auto first = first_ports(graph, at);
    for (std::size_t other = 0; other < first.size(); ++other) {
      tables[at].set(graph.switches[other].lid, first[other]);
    }
    for (const SubnetGraph::Node& node : graph.nodes) {
      tables[at].set(node.lid, node.at == at ? node.port : first[node.at]);
    }
  }
  return tables;
}

}  // namespace splitnic::fabric
