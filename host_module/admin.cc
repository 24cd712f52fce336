#include "host_module/admin.h"

#include "control/echo_run.h"
#include "control/pair_snapshot.h"
#include "control/values.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::host {

control::Snapshot Admin::snapshot() const {
  control::Snapshot s;
  s.role = "host";
  s.name = options_.common.name;
  s.state = "connecting";
  control::PeerInfo peer;
  peer.address = options_.connect.text();
  peer.mode = "rdma";
  if (host_ != nullptr) {
    // Once connected, "down" until the link is heard again: the pair may outlive it.
    const bool linked = host_->link() != nullptr && host_->link()->up();
    if (linked && host_->nic_up())
      s.state = "up";
    else if (!linked && host_->link() != nullptr)
      s.state = "down";
    if (host_->pair() != nullptr) {
      peer.mode = host_->pair()->mode() == messaging::Mode::kRdma ? "rdma" : "send";
      peer.name = host_->pair()->peer_name();
      control::add_pair(s, *host_->pair(), peer.name);
    }
    if (fabric::Link* link = host_->link(); link != nullptr) {
      s.links.push_back({link->peer_name(), std::string(fabric::name(link->state())), link->mcp(),
                         link->lanes()});
    }
    const lan::PortState tap = tap_->state();
    peer.mac = control::mac_text(tap.mac);
    s.lan.push_back({tap_->name(), host_->nic().lan_link() ? "up" : "down", tap.mtu,
                     control::mac_text(tap.mac)});
    host_->visit_counters([&](std::string_view name, std::uint64_t value) {
      s.counters.emplace_back(std::string(name), value);
    });
  }
  peer.state = s.state;
  s.peers.push_back(peer);
  return s;
}

void Admin::handle(const control::Request& request, control::ReplyFunction reply) {
  switch (request.command) {
    case control::Command::kShow:
      return reply({control::ReplyStatus::kOk,
                    request.json ? show_json(snapshot()) : show_text(snapshot())});
    case control::Command::kStats:
      return reply({control::ReplyStatus::kOk,
                    request.json ? stats_json(snapshot()) : stats_text(snapshot())});
    case control::Command::kSet:
      return reply(set(request.what, request.value));
    case control::Command::kPing:
      return ping(request.count, std::move(reply));
  }
}

// What is set goes to the interface, as `ip link` would; from there it reaches the LAN NIC by
// itself.
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
    const auto mtu = control::parse_number(value, 65535);
    if (!mtu || *mtu < 68) return bad("mtu: a number from 68 to 65535");
    done = tap_->set_mtu(static_cast<std::uint32_t>(*mtu));
  } else if (what == "filter") {
    if (value != "promisc" && value != "normal") return bad("filter: promisc or normal");
    done = tap_->set_promiscuous(value == "promisc");
  } else if (what == "link") {
    if (value != "up" && value != "down") return bad("link: up or down");
    host_->nic().set_started(value == "up", clock_.now());
  } else {
    return bad("set: mac, mtu, filter or link");
  }
  if (!done) return {control::ReplyStatus::kFailed, done.error().text()};
  host_->on_tap_event(clock_.now());
  return {control::ReplyStatus::kOk, ""};
}

void Admin::ping(std::uint32_t count, control::ReplyFunction reply) {
  if (host_ == nullptr || !host_->pair_up()) {
    return reply({control::ReplyStatus::kRefused, "not connected to the I/O unit"});
  }
  messaging::cfg::EchoRequest echo;
  echo.set_data("splitnic ping");
  control::run_echoes(
      count, clock_,
      [this, data = echo.SerializeAsString()](std::function<void(bool)> done) {
        if (host_->pair() == nullptr) return false;
        return host_->pair()
            ->request(messaging::CfgCode::kEcho, data,
                      [done = std::move(done)](const messaging::CfgReply& received) {
                        done(received.replied && received.status == messaging::CfgStatus::kOk);
                      })
            .has_value();
      },
      std::move(reply));
}

}  // namespace splitnic::host
