#include "fabric_emul/switching/topology.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/endian.h"
#include "base/parse_number.h"

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
      ports.at(node.at.port) = {node.name, node.lid, 0, node.partitions, node.lmc};
    }
  }
  return ports;
}

void append(std::vector<std::byte>& to, Lid lid) {
  to.resize(to.size() + sizeof(lid.value));
  base::store_be(&to[to.size() - sizeof(lid.value)], lid.value);
}

void append(std::vector<std::byte>& to, const NetworkAddress& address) {
  to.insert(to.end(), address.bytes.begin(), address.bytes.end());
}

// NAME or NAME+PATH. Returns LID 0 if there is no such node or path.
Lid lid_of_name(const SwitchPlan& plan, std::string_view text) {
  const std::size_t end = std::min(text.rfind(kPathMark), text.size());
  const auto node = plan.nodes.find(text.substr(0, end));
  if (node == plan.nodes.end()) return Lid();
  if (end == text.size()) return node->second.base;
  for (unsigned path = 1; path < node->second.count(); ++path) {
    if (name_of_path(node->first, path) == text) return node->second.of_path(path);
  }
  return Lid();
}

SwitchPlan::Network network_of(const Topology& topology) {
  SwitchPlan::Network out;
  out.subnet = topology.network->subnet;
  out.remotes.insert(topology.network->remotes.begin(), topology.network->remotes.end());
  for (const Topology::Network::Route& route : topology.network->routes) {
    const auto via = std::ranges::find(topology.switches, route.via, &Topology::Switch::name);
    if (via != topology.switches.end()) {
      SwitchPlan::Network::Route& planned = out.routes.emplace_back();
      planned = {route.to, via->lid};
      for (const std::string& name : route.others) {
        const auto other = std::ranges::find(topology.switches, name, &Topology::Switch::name);
        CHECK(other != topology.switches.end());
        planned.others.insert(other->lid);
      }
      out.routers.insert(via->lid);
      out.routers.insert(planned.others.begin(), planned.others.end());
      continue;
    }
    const auto leg = std::ranges::find(topology.nodes, route.via, &Topology::Node::name);
    CHECK(leg != topology.nodes.end());
    out.routes.push_back({route.to, leg->lid});
  }
  std::ranges::stable_sort(out.routes, std::ranges::greater(),
                           [](const SwitchPlan::Network::Route& route) { return route.to.bits; });
  return out;
}

}  // namespace

const SwitchPlan::Network::Route* SwitchPlan::Network::route_to(
    const NetworkAddress& address) const {
  const auto at =
      std::ranges::find_if(routes, [&](const Route& route) { return route.to.contains(address); });
  return at == routes.end() ? nullptr : &*at;
}

std::size_t SwitchPlan::used_ports() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(ports, [](const Port& port) { return !port.peer.empty(); }));
}

bool SwitchPlan::has_table(std::size_t input) const {
  if (input == kNoInput) return true;
  return tables.per() == TablesPer::kInput && input < ports.size() && !ports.at(input).peer.empty();
}

std::size_t SwitchPlan::table_count() const {
  return tables.per() == TablesPer::kSwitch ? 1 : 1 + used_ports();
}

std::vector<std::byte> place_of(const SwitchPlan& plan, Lid asks) {
  std::vector<std::byte> place;
  if (!plan.network) return place;
  append(place, asks);
  append(place, network_address_of(plan.network->subnet, asks));
  for (const Lid router : plan.network->routers) append(place, router);
  return place;
}

std::vector<std::byte> place_of(const SwitchPlan& plan, base::Bytes name) {
  std::vector<std::byte> place;
  if (const Lid lid = lid_of_name(plan, base::as_text(name)); lid != Lid()) append(place, lid);
  if (!place.empty() || !plan.network) return place;
  const auto remote = plan.network->remotes.find(base::as_text(name));
  if (remote == plan.network->remotes.end()) return place;
  const auto* route = plan.network->route_to(remote->second);
  if (route == nullptr || !plan.network->routers.contains(route->via)) return place;
  append(place, route->via);
  append(place, remote->second);
  return place;
}

std::string lids_name_of(Lid base) {
  return std::string(kOwnLidsName) + std::to_string(base.value);
}

std::vector<std::byte> lids_place_of(const SwitchPlan& plan, const PortLids& asks,
                                     std::string_view name) {
  std::vector<std::byte> place;
  const PortLids* lids = name == kOwnLidsName ? &asks : nullptr;
  const auto read = base::parse_number<std::uint16_t>(name.substr(kOwnLidsName.size()), 1,
                                                      std::numeric_limits<std::uint16_t>::max());
  if (lids == nullptr && !read) return place;
  const std::uint16_t number = read.value_or(0);
  for (auto node = plan.nodes.begin(); lids == nullptr && node != plan.nodes.end(); ++node) {
    if (Lid(number) == node->second.base) lids = &node->second;
  }
  if (lids == nullptr) return place;
  append(place, lids->base);
  append(place, Lid(lids->lmc));
  return place;
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
    for (unsigned path = 0; path < node.lids().count(); ++path) {
      graph.nodes.push_back({node.lids().of_path(path), indices.at(node.at.of_switch), node.at.port,
                             static_cast<std::uint8_t>(path)});
    }
  }
  return graph;
}

namespace {

// Leaves what follows from LIDs of nodes to the subnet manager.
void remove_lids(SwitchPlan& plan) {
  const std::size_t inputs =
      plan.tables.per() == TablesPer::kSwitch ? 1 : std::size_t{kSwitchPortsMax} + 1;
  for (auto& [name, lids] : plan.nodes) {
    for (unsigned path = 0; path < lids.count(); ++path) {
      for (std::size_t input = 0; input < inputs; ++input) {
        plan.tables.of(static_cast<std::uint8_t>(input)).set(lids.of_path(path), 0);
      }
    }
    lids.base = Lid();
  }
  for (SwitchPlan::Port& port : plan.ports) {
    if (port.is_node()) port.lid = Lid();
  }
}

void remove_policy(SwitchPlan& plan) {
  plan.lanes = kLaneOfSl;
  for (SwitchPlan::Port& port : plan.ports) port.partitions.clear();
  plan.has_policy = false;
}

Topology without_policy(Topology topology) {
  for (Topology::Switch& one : topology.switches) one.lanes = kLaneOfSl;
  for (Topology::Node& node : topology.nodes) node.partitions.clear();
  return topology;
}

}  // namespace

std::string_view name(GivenBy by) { return by == GivenBy::kFile ? "file" : "manager"; }

std::optional<GivenBy> parse_given_by(std::string_view text) {
  for (const GivenBy by : {GivenBy::kFile, GivenBy::kManager}) {
    if (name(by) == text) return by;
  }
  return std::nullopt;
}

base::Result<SwitchPlan> plan_of(const Topology& topology, const std::string& name) {
  const auto own = std::ranges::find(topology.switches, name, &Topology::Switch::name);
  if (own == topology.switches.end()) {
    return base::Error("there is no [switches." + name + "]: give the --name of a switch in it");
  }
  auto tables = make_routing(topology.routing, topology.tables_per)->tables(graph_of(topology));
  if (!tables) return tables.error();
  SwitchPlan plan;
  plan.name = name;
  plan.lid = own->lid;
  plan.lanes = own->lanes;
  plan.pins_vl = topology.pins_vl;
  plan.layers_lanes = topology.routing == RoutingKind::kLayered;
  for (const Topology::Switch& one : topology.switches) plan.switches.insert(one.lid);
  plan.ports = ports_of(topology, name);
  plan.tables = std::move((*tables)[static_cast<std::size_t>(own - topology.switches.begin())]);
  for (const Topology::Node& node : topology.nodes) plan.nodes.emplace(node.name, node.lids());
  if (topology.network) plan.network = network_of(topology);
  plan.lids_from = topology.lids_from;
  if (plan.lids_from == GivenBy::kManager) remove_lids(plan);
  plan.policy_from = topology.policy_from;
  if (plan.policy_from == GivenBy::kManager) remove_policy(plan);
  return plan;
}

std::map<std::string, SwitchPolicy> policies_of(const Topology& topology) {
  const bool has_partitions = std::ranges::any_of(
      topology.nodes, [](const Topology::Node& node) { return !node.partitions.empty(); });
  std::map<std::string, SwitchPolicy> all;
  for (const Topology::Switch& one : topology.switches)
    all[one.name] = {.lanes = one.lanes, .has_partitions = has_partitions};
  if (!has_partitions) return all;
  for (const Topology::Node& node : topology.nodes)
    all.at(node.at.of_switch).ports.push_back({node.at.port, node.partitions});
  for (auto& [name, policy] : all)
    std::ranges::sort(policy.ports, {}, &SwitchPolicy::NodePort::number);
  return all;
}

bool differ_in_policy_only(const Topology& a, const Topology& b) {
  return without_policy(a) == without_policy(b);
}

}  // namespace splitnic::fabric
