#include "switch_module/admin.h"

namespace splitnic::fabric_switch {
namespace {

std::string state_of(const fabric::Link* link) {
  if (link == nullptr) return "connecting";
  return link->up() ? "up" : "down";
}

}  // namespace

control::Snapshot Admin::snapshot() const {
  control::Snapshot s;
  s.role = "switch";
  s.name = options_.common.name();
  s.state = "connecting";
  if (switch_ == nullptr) return s;
  if (switch_->is_up()) s.state = "up";
  for (const fabric::Switch::PortView& port : switch_->ports()) {
    control::PeerInfo peer;
    peer.name = port.plan.peer;
    peer.state = state_of(port.link);
    peer.address = port.link != nullptr ? port.link->peer_name() : "";
    peer.port = port.number;
    peer.lid = port.plan.lid.value;
    if (port.link != nullptr) peer.key = port.link->peer_key();
    s.peers.push_back(std::move(peer));
    if (port.link != nullptr) control::add_link(s, *port.link);
  }
  switch_->visit_counters([&](std::string_view name, std::uint64_t value) {
    s.counters.emplace_back(std::string(name), value);
  });
  return s;
}

control::Reply Admin::set(const std::string&, const std::string&) {
  return {control::ReplyStatus::kBadRequest, "set is for the host side"};
}

base::Result<messaging::Connection*> Admin::connection_to_ping() {
  return base::Error("a switch has no connections: ping from a host or an I/O unit");
}

}  // namespace splitnic::fabric_switch
