#include "host_module/host_admin.h"

#include <algorithm>

#include "control/config/nic_request.h"
#include "control/config/setting.h"
#include "control/config/values.h"
#include "control/config/version.h"
#include "control/daemon/report_details.h"
#include "host_module/nic_run.h"

namespace splitnic::host {

// Once connected, "down" until the link is heard again: the connection may outlive it.
std::string HostAdmin::state() const {
  if (host_ == nullptr || host_->link() == nullptr) return "connecting";
  if (!host_->link()->up()) return "down";
  return host_->nic_up() ? "up" : "connecting";
}

// Of a unit that is not in use: whether it could be.
std::string HostAdmin::state_of(std::size_t unit) const {
  if (host_ == nullptr) return "connecting";
  if (host_->unit_in_use().value_or(0) == unit) return state();
  const fabric::Link* const link = host_->link_to(unit);
  if (link == nullptr) return "not used";
  if (link->up()) return host_->is_left(unit) ? "down" : "standby";
  return link->peer_instance() == 0 ? "connecting" : "down";
}

control::Snapshot HostAdmin::snapshot(control::SnapshotParts parts) const {
  control::Snapshot s = control::program_snapshot("host", options_.common, parts, host_ != nullptr);
  s.state = state();
  if (parts.has_details) s.details.emplace_back("interface", interface());
  for (std::size_t i = 0; i < options_.units.size(); ++i) {
    control::PeerInfo peer;
    peer.address = options_.units[i].text();
    peer.mode = control::mode_name(options_.common.pair.mode);
    peer.state = state_of(i);
    if (host_ != nullptr) add_unit(s, peer, i, parts);
    s.peers.push_back(peer);
  }
  if (host_ != nullptr) add_host(s);
  return s;
}

void HostAdmin::add_unit(control::Snapshot& s, control::PeerInfo& peer, std::size_t unit,
                         control::SnapshotParts parts) const {
  const fabric::Link* const link = host_->link_to(unit);
  if (link != nullptr) add_history(peer, *link, unit);
  if (link != nullptr && link->peer_instance() != 0) {
    peer.key = link->peer_key();
    control::add_link(s, *link, parts);
  }
  if (host_->unit_in_use().value_or(0) != unit) return;
  peer.mac = control::mac_text(host_->nic().mac());
  const messaging::Connection* const connection = host_->connection();
  if (connection == nullptr) return;
  peer.mode = control::mode_name(connection->first().mode());
  peer.name = connection->first().peer_name();
  peer.program = connection->first().peer_program();
  control::add_connection(s, *connection, peer);
  if (parts.has_details && host_->nic_up()) peer.details = nic_details();
}

// The NIC of this host, as it is set at the I/O unit.
control::Details HostAdmin::nic_details() const {
  const NicConfig& nic = host_->nic();
  control::Details out{{"nic", std::uint64_t{options_.nic}}};
  if (nic.sync().lan_mac != lan::MacAddress{}) {
    out.emplace_back("address_of_the_card", control::mac_text(nic.sync().lan_mac));
  }
  const control::Details settings = control::nic_details(nic.sync().settings());
  out.insert(out.end(), settings.begin(), settings.end());
  out.emplace_back("queues_of_the_unit", std::uint64_t{nic.sync().queues});
  out.emplace_back("queues_used", std::uint64_t{nic.sync().queues_used()});
  return out;
}

void HostAdmin::add_history(control::PeerInfo& peer, const fabric::Link& link,
                            std::size_t unit) const {
  const base::Time now = clock_.now();
  peer.since = now - host_->changed_at(unit);
  if (link.last_heard() != base::Time{}) peer.last_heard = now - link.last_heard();
  peer.last_error = host_->last_error(unit);
  const std::string error = host_->send_error(unit);
  if (!link.up() && peer.last_error.find(error) == std::string::npos) {
    peer.last_error += (peer.last_error.empty() ? "" : "; ") + error;
  }
  if (const auto refusal = control::refusal_of(link); !link.up() && !refusal.empty()) {
    peer.last_error = refusal;
  } else if (!link.up() && !peer.last_heard) {
    peer.last_error += (peer.last_error.empty() ? "" : "; ") + ("no reply: " + advice_(unit));
  }
  if (link.next_attempt() != base::kNever) {
    peer.next_attempt = std::max(link.next_attempt() - now, base::Duration{0});
  }
  if (host_->unit_in_use().value_or(0) != unit) return;
  if (const auto why = host_->nic().sync().mac_refusal(); why && peer.last_error.empty()) {
    peer.last_error = *why;
  }
  if (const auto at = host_->next_attempt()) {
    peer.next_attempt = std::max(*at - now, base::Duration{0});
  }
}

// The interface shows its carrier, which is off while the path to the unit is.
void HostAdmin::add_host(control::Snapshot& s) const {
  const NicConfig& nic = host_->nic();
  s.lan.push_back({tap_->name(), nic.has_carrier() ? "up" : "down", nic.mtu(),
                   control::mac_text(nic.mac()), nic.sync().lan_speed_mbps,
                   nic.sync().is_lan_full_duplex});
  host_->visit_counters([&](std::string_view name, std::uint64_t value) {
    s.counters.emplace_back(std::string(name), value);
  });
}

// Finds the unit by its number or by its text in --connect.
control::Reply HostAdmin::move(const std::string& typed) {
  const auto place = control::parse_peer_place(typed);
  const std::string to = place ? place->text() : typed;
  for (std::size_t i = 0; i < options_.units.size(); ++i) {
    if (to != options_.units[i].text() && typed != std::to_string(i + 1)) continue;
    if (auto done = host_->move_to(i, clock_.now()); !done) {
      return {control::ReplyStatus::kRefused, done.error().text()};
    }
    return {control::ReplyStatus::kOk, ""};
  }
  std::string known;
  for (const UnitOptions& unit : options_.units) known += (known.empty() ? "" : ", ") + unit.text();
  return {control::ReplyStatus::kBadRequest,
          "'" + typed + "' is none of the I/O units of this host: " + known};
}

control::Reply HostAdmin::set(const std::string& what, const std::string& value) {
  if (tap_ == nullptr) return {control::ReplyStatus::kRefused, "not started yet"};
  if (what == control::kMoveSetting) return move(value);
  const auto setting = control::parse_setting(what, value);
  if (!setting) return {control::ReplyStatus::kBadRequest, setting.error().text()};
  base::Status done;
  switch (setting->kind) {
    case control::Setting::Kind::kMac:
      done = tap_->set_mac(setting->mac);
      break;
    case control::Setting::Kind::kMtu:
      done = tap_->set_mtu(setting->mtu);
      break;
    case control::Setting::Kind::kFilter:
      done = tap_->set_promiscuous(setting->is_promiscuous);
      break;
    case control::Setting::Kind::kLink:
      host_->nic().set_started(setting->is_up, clock_.now());
      break;
  }
  if (!done) return {control::ReplyStatus::kFailed, done.error().text()};
  host_->on_tap_event(clock_.now());
  return {control::ReplyStatus::kOk, ""};
}

// The interface has the value by now, and keeps it if it is refused.
void HostAdmin::when_settled(const control::Request& request, const control::ReplyFunction& reply) {
  using Kind = control::Setting::Kind;
  const auto setting = control::parse_setting(request.what, request.value);
  const bool is_of_unit = setting && host_ != nullptr && host_->nic_up() &&
                          (setting->kind != Kind::kFilter || setting->is_promiscuous);
  if (!is_of_unit) return reply({control::ReplyStatus::kOk, ""});
  const messaging::CfgCode code = setting->kind == Kind::kMac   ? messaging::CfgCode::kSetMac
                                  : setting->kind == Kind::kMtu ? messaging::CfgCode::kSetMtu
                                                                : messaging::CfgCode::kSetFilter;
  host_->nic().when_settled(code, clock_.now(), [reply](const std::optional<std::string>& why) {
    reply(why ? control::Reply{control::ReplyStatus::kRefused, *why}
              : control::Reply{control::ReplyStatus::kOk, ""});
  });
}

void HostAdmin::nic(const control::Request& request, control::ReplyFunction reply) {
  const auto parsed = control::parse_nic_request(request.what, request.value);
  if (!parsed) return reply({control::ReplyStatus::kBadRequest, parsed.error().text()});
  if (host_ == nullptr) return reply({control::ReplyStatus::kRefused, "not started yet"});
  const std::string& own = interface();
  if (!request.interface.empty() && request.interface != own) {
    return reply({control::ReplyStatus::kRefused, other_interface(request.interface).text()});
  }
  NicRun::start(
      *parsed,
      {own, control::version_text("splitnic-host"),
       options_.units[host_->unit_in_use().value_or(0)].text(), request.json},
      *host_,
      [this](std::size_t queue, NicRun::WithHost function) {
        return post_to(queue, [function = std::move(function)](control::Admin& admin) {
          if (Host* host = static_cast<HostAdmin&>(admin).host_; host != nullptr) function(*host);
        });
      },
      std::move(reply));
}

base::Error HostAdmin::other_interface(const std::string& name) const {
  return base::Error("the interface of this program is " + interface() + ", not " + name);
}

base::Status HostAdmin::begin_capture(lan::FrameCapture& capture, const std::string& interface) {
  if (tap_ == nullptr) return base::Error("not started yet");
  if (!interface.empty() && interface != this->interface()) return other_interface(interface);
  tap_->copy_to(capture.add(this->interface()));
  return {};
}

base::Result<messaging::Connection*> HostAdmin::connection_to_ping() {
  if (host_ != nullptr && host_->connection_up()) return host_->connection();
  return base::Error(
      "not connected to the I/O unit: look at splitnic show and at the log of splitnic-host");
}

}  // namespace splitnic::host
