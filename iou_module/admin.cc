#include "iou_module/admin.h"

#include "control/echo_run.h"
#include "control/pair_snapshot.h"
#include "control/values.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::iou {
namespace {

void add_lan(control::Snapshot& s, LanNic& nic) {
  const lan::PortState lan = nic.port().state();
  s.lan.push_back(
      {nic.port().name(), lan.link_up ? "up" : "down", lan.mtu, control::mac_text(lan.mac)});
}

void add_host(control::Snapshot& s, const LanNic& nic, AttachedHost& session) {
  control::PeerInfo peer;
  peer.name = session.pair().peer_name();
  peer.address = session.link().peer_name();
  peer.state = session.pair().up() ? session.link().up() ? "up" : "down" : "connecting";
  peer.mode = session.pair().mode() == messaging::Mode::kRdma ? "rdma" : "send";
  if (session.nic.mac) peer.mac = control::mac_text(*session.nic.mac);
  peer.nic = nic.number();
  s.links.push_back({peer.address, std::string(fabric::name(session.link().state())),
                     session.link().mcp(), session.link().lanes()});
  control::add_pair(s, session.pair(), peer.name);
  s.peers.push_back(std::move(peer));
}

}  // namespace

control::Snapshot Admin::snapshot() const {
  control::Snapshot s;
  s.role = "iou";
  s.name = options_.common.name;
  s.state = "connecting";
  if (unit_ == nullptr) return s;
  s.state = unit_->hosts_up() > 0 ? "up" : "connecting";
  for (const auto& nic : unit_->nics()) {
    add_lan(s, *nic);
    for (const auto& session : nic->sessions()) add_host(s, *nic, *session);
  }
  const auto add = [&](std::string_view name, std::uint64_t value) {
    s.counters.emplace_back(std::string(name), value);
  };
  unit_->visit_counters(add);
  visit_carriers_(add);
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
      return reply({control::ReplyStatus::kBadRequest, "set is for the host side"});
    case control::Command::kPing:
      return ping(request.count, std::move(reply));
  }
}

void Admin::ping(std::uint32_t count, control::ReplyFunction reply) {
  if (unit_ == nullptr || unit_->hosts_up() == 0) {
    return reply({control::ReplyStatus::kRefused, "no host is attached"});
  }
  messaging::cfg::EchoRequest echo;
  echo.set_data("splitnic ping");
  control::run_echoes(
      count, clock_,
      [this, data = echo.SerializeAsString()](std::function<void(bool)> done) {
        for (const auto& session : unit_->sessions()) {
          if (!session->pair().up()) continue;
          return session->pair()
              .request(messaging::CfgCode::kEcho, data,
                       [done = std::move(done)](const messaging::CfgReply& received) {
                         done(received.replied && received.status == messaging::CfgStatus::kOk);
                       })
              .has_value();
        }
        return false;
      },
      std::move(reply));
}

}  // namespace splitnic::iou
