#include "fabric_emul/switching/topology.h"

#include <algorithm>
#include <deque>
#include <map>

namespace splitnic::fabric {
namespace {

// The ports that the cables of each switch lead to, by its ports.
using Neighbours = std::map<std::string, std::map<std::uint8_t, PortPlace>>;

Neighbours neighbours_of(const Topology& topology) {
  Neighbours all;
  for (const Topology::Cable& cable : topology.cables) {
    all[cable.a.of_switch][cable.a.port] = cable.b;
    all[cable.b.of_switch][cable.b.port] = cable.a;
  }
  return all;
}

// The first port on the way to each switch: breadth first, ports in ascending order.
std::map<std::string, std::uint8_t> first_ports(Neighbours& neighbours, const std::string& from) {
  std::map<std::string, std::uint8_t> first;
  std::deque<std::string> reached{from};
  first[from] = 0;
  for (; !reached.empty(); reached.pop_front()) {
    const std::string at = reached.front();
    for (const auto& [port, next] : neighbours[at]) {
      if (first.contains(next.of_switch)) continue;
      first[next.of_switch] = at == from ? port : first[at];
      reached.push_back(next.of_switch);
    }
  }
  return first;
}

}  // namespace

std::optional<Lid> SwitchPlan::lid_of(base::Bytes node) const {
  const auto at = nodes.find(base::as_text(node));
  return at == nodes.end() ? std::nullopt : std::optional(at->second);
}

base::Result<SwitchPlan> plan_of(const Topology& topology, const std::string& name) {
  const auto own = std::ranges::find(topology.switches, name, &Topology::Switch::name);
  if (own == topology.switches.end()) {
    return base::Error("there is no [switches." + name + "]: give the --name of a switch in it");
  }
  SwitchPlan plan;
  plan.name = name;
  plan.lid = own->lid;
  Neighbours neighbours = neighbours_of(topology);
  const auto first = first_ports(neighbours, name);
  for (const Topology::Switch& other : topology.switches) {
    if (const auto at = first.find(other.name); at != first.end()) {
      plan.table.set(other.lid, at->second);
    }
    for (const auto& [port, next] : neighbours[name]) {
      if (next.of_switch == other.name) plan.ports.at(port) = {other.name, other.lid, next.port};
    }
  }
  for (const Topology::Node& node : topology.nodes) {
    plan.nodes.emplace(node.name, node.lid);
    const auto at = first.find(node.at.of_switch);
    if (at == first.end()) continue;
    const bool is_here = node.at.of_switch == name;
    plan.table.set(node.lid, is_here ? node.at.port : at->second);
    if (is_here) plan.ports.at(node.at.port) = {node.name, node.lid};
  }
  return plan;
}

}  // namespace splitnic::fabric
