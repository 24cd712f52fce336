#include "host_module/admin.h"

#include "control/values.h"
#include "lan_bridge/frame/mtu.h"

namespace splitnic::host {

// Once connected, "down" until the link is heard again: the connection may outlive it.
std::string Admin::state() const {
  if (host_ == nullptr || host_->link() == nullptr) return "connecting";
  if (!host_->link()->up()) return "down";
  return host_->nic_up() ? "up" : "connecting";
}

control::Snapshot Admin::snapshot() const {
  control::Snapshot s;
  s.role = "host";
  s.name = options_.common.name();
  s.state = state();
  control::PeerInfo peer;
  peer.address = options_.connect.text();
  peer.mode = control::mode_name(messaging::Mode::kRdma);
  if (host_ != nullptr) add_host(s, peer);
  peer.state = s.state;
  s.peers.push_back(peer);
  return s;
}

void Admin::add_host(control::Snapshot& s, control::PeerInfo& peer) const {
  if (const messaging::Connection* pair = host_->pair(); pair != nullptr) {
    peer.mode = control::mode_name(pair->mode());
    peer.name = pair->peer_name();
    control::add_connection(s, *pair, peer.name);
  }
  if (const fabric::Link* link = host_->link(); link != nullptr) {
    s.links.push_back(
        {link->peer_name(), std::string(fabric::name(link->state())), link->mcp(), link->lanes()});
  }
  const lan::PortState tap = tap_->state();
  peer.mac = control::mac_text(tap.mac);
  s.lan.push_back({tap_->name(), host_->nic().lan_link() ? "up" : "down", tap.mtu, peer.mac});
  host_->visit_counters([&](std::string_view name, std::uint64_t value) {
    s.counters.emplace_back(std::string(name), value);
  });
}

control::Reply Admin::set(const std::string& what, const std::string& value) {
  const auto bad = [](const std::string& why) {
    return control::Reply{control::ReplyStatus::kBadRequest, why};
  };
  if (tap_ == nullptr) return {control::ReplyStatus::kRefused, "not started yet"};
  base::Status done;
  if (what == "mac") {
    const auto mac = control::parse_mac(value);
    if (!mac) return bad(mac.error().text());
    done = tap_->set_mac(*mac);
  } else if (what == "mtu") {
    const auto mtu = control::number_option("set mtu", value, lan::kMtuMin, lan::kTapMtuMax);
    if (!mtu) return bad(mtu.error().text());
    done = tap_->set_mtu(*mtu);
  } else if (what == "filter") {
    if (value != "promisc" && value != "normal") return bad("set filter: promisc or normal");
    done = tap_->set_promiscuous(value == "promisc");
  } else if (what == "link") {
    if (value != "up" && value != "down") return bad("set link: up or down");
    host_->nic().set_started(value == "up", clock_.now());
  } else {
    return bad("set: '" + what + "' is none of mac, mtu, filter and link");
  }
  if (!done) return {control::ReplyStatus::kFailed, done.error().text()};
  host_->on_tap_event(clock_.now());
  return {control::ReplyStatus::kOk, ""};
}

base::Result<messaging::Connection*> Admin::connection_to_ping() {
  if (host_ != nullptr && host_->pair_up()) return host_->pair();
  return base::Error("not connected to the I/O unit");
}

}  // namespace splitnic::host
