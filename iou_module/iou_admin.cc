#include "iou_module/iou_admin.h"

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "control/config/values.h"
#include "control/daemon/report_details.h"
#include "iou_module/hosts/host_rights_text.h"

namespace splitnic::iou {
namespace {

void add_lan(control::Snapshot& s, LanNic& nic) {
  const lan::PortState& lan = nic.lan_state();
  s.lan.push_back({nic.port().name(), lan.link_up ? "up" : "down", lan.mtu,
                   control::mac_text(lan.mac), lan.speed_mbps, lan.full_duplex});
}

// A host whose link is down is so since it was heard last, but for the time until that was noticed.
control::PeerInfo peer_of(const LanNic& nic, const AttachedHost& host, base::Time now) {
  control::PeerInfo peer;
  peer.name = nic.label_of(host);
  peer.address = host.link().peer_name();
  peer.state = host.connection().up() ? host.link().up() ? "up" : "down" : "connecting";
  peer.mode = control::mode_name(host.connection().first().mode());
  if (host.nic().mac) peer.mac = control::mac_text(*host.nic().mac);
  peer.program = host.connection().first().peer_program();
  peer.nic = nic.number();
  const base::Time heard = host.link().last_heard();
  if (heard != base::Time{}) peer.last_heard = now - heard;
  peer.since = now - (peer.state == "down" ? heard : host.life().attached_at());
  peer.key = host.link().peer_key();
  return peer;
}

base::CounterVisitor into(control::Snapshot& s) {
  return [&s](std::string_view name, std::uint64_t value) { s.counters.emplace_back(name, value); };
}

}  // namespace

control::Snapshot IouAdmin::snapshot(control::SnapshotParts parts) const {
  control::Snapshot s = control::program_snapshot("iou", options_.common, parts, unit_ != nullptr);
  for (const control::Endpoint& at : options_.listen) s.listen.push_back(at.text());
  if (parts.has_details) {
    s.details.emplace_back("hosts_at_most", std::uint64_t{admission_.known().hosts_max()});
  }
  if (unit_ == nullptr) return s;
  s.state = "up";
  for (const auto& nic : unit_->nics()) add_lan(s, *nic);
  if (parts.has_counters) unit_->visit_shared_counters(into(s));
  return s;
}

// A host that has ended before its step is left out, and so is one that comes meanwhile.
IouAdmin::AddPart IouAdmin::more_parts(control::SnapshotParts parts) const {
  if (unit_ == nullptr) return {};
  struct Place {
    const LanNic* nic;
    fabric::ConnectionId host;
  };
  std::vector<Place> places;
  for (const auto& nic : unit_->nics()) {
    for (const auto& host : nic->hosts()) {
      places.push_back({nic.get(), host->connection().first().connection()});
    }
  }
  return [this, parts, places = std::move(places),
          next = std::size_t{0}](control::Snapshot& s) mutable {
    if (next == places.size()) return false;
    const Place& at = places[next++];
    if (AttachedHost* const host = at.nic->find(at.host)) {
      if (parts.has_peers) {
        control::PeerInfo peer = peer_of(*at.nic, *host, clock_.now());
        control::add_link(s, host->link(), parts);
        control::add_connection(s, host->connection(), peer);
        if (parts.has_details) add_details(peer, *at.nic, *host);
        s.peers.push_back(std::move(peer));
      }
      if (parts.has_counters && !parts.has_details) at.nic->visit_host_counters(*host, into(s));
    }
    return next < places.size();
  };
}

void IouAdmin::add_details(control::PeerInfo& peer, const LanNic& nic,
                           const AttachedHost& host) const {
  peer.details = control::nic_details(host.nic().state());
  peer.details.emplace_back("nic_started", host.nic().started);
  peer.details.emplace_back("frames_waiting", std::uint64_t{host.tx().queue().size()});
  peer.details.emplace_back("partition", std::uint64_t{host.partition().value});
  if (const auto age = admission_.keys_age(host.link())) {
    peer.details.emplace_back("keys_agreed_before_seconds",
                              static_cast<std::uint64_t>(*age / std::chrono::seconds(1)));
  }
  if (const auto user = host.link().peer_user()) {
    peer.details.emplace_back("user", std::uint64_t{*user});
  }
  peer.details.emplace_back("rights", rights_text(host.rights()));
  peer.memory_bytes = host.allowance().memory_account().used();
  peer.memory_bytes_max = host.allowance().memory_account().limit();
  const std::string prefix = "host." + peer.name + ".";
  nic.visit_host_counters(host, [&](std::string_view name, std::uint64_t value) {
    if (value == 0) return;
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    peer.counters[std::string(name)] += value;
  });
}

base::Result<messaging::Connection*> IouAdmin::connection_of(const std::string& peer) {
  std::vector<messaging::Connection*> found;
  if (unit_ != nullptr) {
    for (const auto& nic : unit_->nics()) {
      for (const auto& host : nic->hosts()) {
        if (host->has_ended() || !host->connection().up()) continue;
        if (peer.empty() || nic->label_of(*host) == peer) found.push_back(&host->connection());
      }
    }
  }
  if (found.size() == 1) return found.front();
  if (!found.empty()) return base::Error("there are several hosts: name one with --peer");
  return base::Error(peer.empty() ? "no host is attached" : "no host '" + peer + "' is attached");
}

// A NIC has the name of its interface, or its text in --lan.
base::Status IouAdmin::begin_capture(lan::FrameCapture& capture, const std::string& interface) {
  if (lans_.empty()) return base::Error("not started yet");
  std::string known;
  bool is_found = false;
  for (std::size_t i = 0; i < lans_.size(); ++i) {
    const control::PortSpec& lan = options_.lan[i];
    const std::string& name = lan.interface.empty() ? lan.text : lan.interface;
    known += (known.empty() ? "" : ", ") + name;
    if (!interface.empty() && interface != name && interface != lan.text) continue;
    lans_[i]->copy_to(capture.add(name));
    is_found = true;
  }
  if (is_found) return {};
  return base::Error("'" + interface + "' is none of the NICs of this I/O unit: " + known);
}

base::Result<messaging::Connection*> IouAdmin::connection_to_ping() {
  if (unit_ != nullptr) {
    for (AttachedHost* host : unit_->hosts()) {
      if (host->connection().up()) return &host->connection();
    }
  }
  return base::Error("no host is attached");
}

}  // namespace splitnic::iou
