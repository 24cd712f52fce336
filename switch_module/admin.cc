#include "switch_module/admin.h"

#include <algorithm>

#include "control/parse_outcome.h"
#include "switch_module/fabric_map.h"

namespace splitnic::fabric_switch {
namespace {

// A held link is up, and carries no cells of nodes until the subnet manager has set the tables.
std::string state_of(const fabric::Switch::PortView& port) {
  if (port.link == nullptr) return "connecting";
  if (!port.link->up()) return "down";
  return port.is_held ? "held" : "up";
}

}  // namespace

control::Snapshot Admin::snapshot() const {
  control::Snapshot s;
  s.role = "switch";
  s.name = options_.common.name();
  s.program = control::version_text("splitnic-switch");
  s.state = "connecting";
  if (switch_ == nullptr) return s;
  if (switch_->is_up()) s.state = "up";
  for (const fabric::Switch::PortView& port : switch_->ports()) {
    control::PeerInfo peer;
    peer.name = port.plan.peer;
    peer.state = state_of(port);
    peer.address = port.link != nullptr ? port.link->peer_name() : "";
    peer.port = port.number;
    peer.lid = port.plan.lid.value;
    if (port.link != nullptr) peer.key = port.link->peer_key();
    s.peers.push_back(std::move(peer));
    if (port.link != nullptr) control::add_link(s, *port.link);
  }
  s.manager = manager();
  const auto add = [&](std::string_view name, std::uint64_t value) {
    s.counters.emplace_back(std::string(name), value);
  };
  switch_->visit_counters(add);
  agent_->counters().visit(add);
  return s;
}

// By the name that this switch's file has for it.
std::optional<control::ManagerInfo> Admin::manager() const {
  const auto obeyed = agent_->manager();
  if (!obeyed) return std::nullopt;
  const auto named =
      std::ranges::find(topology_->switches, obeyed->lid, &fabric::Topology::Switch::lid);
  return control::ManagerInfo{named != topology_->switches.end() ? named->name : "",
                              obeyed->lid.value, obeyed->priority,
                              obeyed->lid == switch_->plan().lid};
}

base::Result<control::FabricMap> Admin::fabric_map() const {
  if (manages_ != nullptr && manages_->is_master()) {
    return map_of(*topology_, manages_->found(), options_.common.name());
  }
  const auto obeyed = switch_ != nullptr ? manager() : std::nullopt;
  if (!obeyed) {
    return base::Error(
        "no subnet manager is heard, so nobody has looked: start a switch with --manage");
  }
  return base::Error("the subnet manager in force is that of " + obeyed->name +
                     ": show topology there");
}

base::Result<messaging::Connection*> Admin::connection_to_ping() {
  return base::Error("a switch has no connections: ping from a host or an I/O unit");
}

}  // namespace splitnic::fabric_switch
