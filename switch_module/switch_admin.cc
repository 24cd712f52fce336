#include "switch_module/switch_admin.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "control/daemon/report_details.h"
#include "switch_module/switch_fabric_map.h"

namespace splitnic::fabric_switch {
namespace {

// A held link is up, and carries no cells of nodes until the subnet manager has set the tables.
std::string state_of(const fabric::Switch::PortView& port) {
  if (port.link == nullptr) return "connecting";
  if (!port.link->up()) return "down";
  return port.is_held ? "held" : "up";
}

}  // namespace

control::Snapshot SwitchAdmin::snapshot(control::SnapshotParts parts) const {
  control::Snapshot s =
      control::program_snapshot("switch", options_.common, parts, !subnets_.empty());
  std::map<std::string, std::size_t, std::less<>> places;
  const auto add = [&](std::string_view name, std::uint64_t value) {
    const auto [place, is_new] = places.try_emplace(std::string(name), s.counters.size());
    if (is_new) s.counters.emplace_back(place->first, 0);
    s.counters[place->second].second += value;
  };
  for (const Subnet& subnet : subnets_) {
    if (subnet.at->is_up()) s.state = "up";
    add_ports(s, *subnet.at, parts);
    if (!s.manager) s.manager = manager(subnet);
    subnet.at->visit_counters(add);
    subnet.agent->counters().visit(add);
  }
  if (router_ != nullptr) router_->counters().visit(add);
  if (leg_ != nullptr) leg_->visit_counters(add);
  return s;
}

void SwitchAdmin::add_ports(control::Snapshot& s, const fabric::Switch& at,
                            control::SnapshotParts parts) {
  for (const fabric::Switch::PortView& port : at.ports()) {
    control::PeerInfo peer;
    peer.name = port.plan.peer;
    peer.state = state_of(port);
    peer.address = port.link != nullptr ? port.link->peer_name() : "";
    peer.port = port.number;
    peer.lid = port.plan.lid.value;
    if (port.link != nullptr) peer.key = port.link->peer_key();
    s.peers.push_back(std::move(peer));
    if (port.link != nullptr) control::add_link(s, *port.link, parts);
  }
}

// By the name that this switch's file has for it.
std::optional<control::ManagerInfo> SwitchAdmin::manager(const Subnet& of) {
  const auto obeyed = of.agent->manager();
  if (!obeyed) return std::nullopt;
  const auto named =
      std::ranges::find(of.topology->switches, obeyed->lid, &fabric::Topology::Switch::lid);
  return control::ManagerInfo{named != of.topology->switches.end() ? named->name : "",
                              obeyed->lid.value, obeyed->priority,
                              obeyed->lid == of.at->plan().lid};
}

base::Result<control::FabricMap> SwitchAdmin::fabric_map() const {
  std::optional<control::ManagerInfo> obeyed;
  for (const Subnet& subnet : subnets_) {
    if (subnet.manages != nullptr && subnet.manages->is_master()) {
      return map_of(*subnet.topology, subnet.manages->found(), subnet.manages->nodes().programs(),
                    subnet.manages->loads().per_second(), options_.common.name());
    }
    if (!obeyed) obeyed = manager(subnet);
  }
  if (!obeyed) {
    return base::Error(
        "the topology is unknown without a subnet manager: start a switch with --manage");
  }
  return base::Error("the subnet manager in force is that of " + obeyed->name +
                     ": show topology there");
}

base::Result<messaging::Connection*> SwitchAdmin::connection_to_ping() {
  return base::Error("a switch has no connections: ping from a host or an I/O unit");
}

}  // namespace splitnic::fabric_switch
