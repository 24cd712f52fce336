#include "fabric_emul/switching/topology.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace splitnic::fabric {
namespace {

// Whoever is at a port of the switch: the table has the routes.
std::array<SwitchPlan::Port, kSwitchPortsMax + 1> ports_of(const Topology& topology,
                                                           const std::string& name) {
  std::unordered_map<std::string, Lid> lids;
  for (const Topology::Switch& one : topology.switches) lids.emplace(one.name, one.lid);
  std::array<SwitchPlan::Port, kSwitchPortsMax + 1> ports;
  for (const Topology::Cable& cable : topology.cables) {
    for (const auto& [here, there] : {std::pair(cable.a, cable.b), std::pair(cable.b, cable.a)}) {
      if (here.of_switch != name) continue;
      ports.at(here.port) = {there.of_switch, lids.at(there.of_switch), there.port};
    }
  }
  for (const Topology::Node& node : topology.nodes) {
    if (node.at.of_switch == name) {
      ports.at(node.at.port) = {node.name, node.lid, 0, node.partitions};
    }
  }
  return ports;
}

}  // namespace

std::optional<Lid> SwitchPlan::lid_of(base::Bytes node) const {
  const auto at = nodes.find(base::as_text(node));
  return at == nodes.end() ? std::nullopt : std::optional(at->second);
}

SubnetGraph graph_of(const Topology& topology) {
  SubnetGraph graph;
  std::unordered_map<std::string, std::uint32_t> indices;
  for (const Topology::Switch& one : topology.switches) {
    indices.emplace(one.name, static_cast<std::uint32_t>(graph.switches.size()));
    graph.switches.push_back({one.name, one.lid, {}});
  }
  for (const Topology::Cable& cable : topology.cables) {
    const std::uint32_t a = indices.at(cable.a.of_switch), b = indices.at(cable.b.of_switch);
    graph.switches[a].cables.push_back({cable.a.port, b});
    graph.switches[b].cables.push_back({cable.b.port, a});
  }
  for (SubnetGraph::Switch& one : graph.switches) {
    std::ranges::sort(one.cables, {}, &SubnetGraph::Cable::port);
  }
  for (const Topology::Node& node : topology.nodes) {
    graph.nodes.push_back({node.lid, indices.at(node.at.of_switch), node.at.port});
  }
  return graph;
}

base::Result<SwitchPlan> plan_of(const Topology& topology, const std::string& name) {
  const auto own = std::ranges::find(topology.switches, name, &Topology::Switch::name);
  if (own == topology.switches.end()) {
    return base::Error("there is no [switches." + name + "]: give the --name of a switch in it");
  }
  auto tables = make_routing(topology.routing)->tables(graph_of(topology));
  if (!tables) return tables.error();
  SwitchPlan plan;
  plan.name = name;
  plan.lid = own->lid;
  plan.lanes = own->lanes;
  for (const Topology::Switch& one : topology.switches) plan.switches.insert(one.lid);
  plan.ports = ports_of(topology, name);
  plan.table = std::move((*tables)[static_cast<std::size_t>(own - topology.switches.begin())]);
  for (const Topology::Node& node : topology.nodes) plan.nodes.emplace(node.name, node.lid);
  return plan;
}

}  // namespace splitnic::fabric
