#include "iou_module/nic/lan_nic.h"

#include <algorithm>
#include <utility>

#include "base/event.h"
#include "base/log.h"
#include "messaging/any_nic.h"

namespace splitnic::iou {

LanNic::LanNic(const LanNicConfig& config, fabric::Adapter& adapter, lan::FramePort& port,
               base::Random& random, LanNicOwner& owner)
    : config_(config),
      adapter_(adapter),
      port_(port),
      random_(random),
      owner_(owner),
      state_(port.state()),
      hosts_(config.number, config.siblings, random.next()),
      nic_service_(port, config.policy, hosts_, *config.rights,
                   [&owner](const AttachedHost& host) { return owner.nics_for(host); }),
      ownership_(port, hosts_, config.policy.ownership),
      rx_(port, hosts_, counters_),
      tx_(port, hosts_, counters_) {
  if (auto attached = port.attach_queue(true); !attached) base::log_warn(attached.error().text());
}

fabric::MgmtReject LanNic::accept(fabric::ConnectionId id, fabric::Link& link,
                                  const fabric::Mgmt& request, fabric::Mgmt& reply,
                                  base::Time now) {
  hosts_.set_time(now);
  AttachedHostConfig config = config_.host;
  config.rights = config_.rights->rights_of(link);
  config.id = config_.rights->id_of(link);
  config.unit_queues = config_.policy.queues;
  config.asks_any_nic = messaging::nic_asked(request.private_data) == messaging::kAnyNic;
  config.limits =
      config_.limits->of(config.id->principal(), config.rights, config_.policy.queues, now);
  config.pair.partition = request.partition;
  if (config.rights.sl) {  // of all of its data, so additional queues would have it too
    config.pair.sl = *config.rights.sl;
    config.pair.queues = 1;
  }
  config.pair.queues = messaging::queues_given(request.private_data, config.pair);
  auto host = std::make_unique<AttachedHost>(config, adapter_, link, random_, *this, now);
  const fabric::MgmtReject code = host->accept(id, request, reply);
  if (code == fabric::MgmtReject::kNone)
    set_up(*host, now);
  else
    host->fail();
  hosts_.add(std::move(host));
  return code;
}

// Gives it the settings that it had before, as far as they are permitted. An address that another
// host has taken meanwhile is not restored, and the host finds another digest than it expects.
void LanNic::set_up(AttachedHost& host, base::Time now) {
  compare_name(host);
  if (auto kept = parked_.take(host.identity().process(), now)) host.nic() = *std::move(kept);
  host.nic().follow_lan_mtu(state_.mtu);
  nic_service_.enforce(host, true);
  ownership_.set_due();
}

// With those of the hosts file: whoever is not in it does not appear as one of them. [L-7]
void LanNic::compare_name(AttachedHost& host) const {
  HostIdentity& identity = host.identity();
  identity.set_states_name_of_another(host.rights().name.empty() &&
                                      config_.rights->names(identity.stated_name()));
}

void LanNic::update_rights(base::Time now) {
  hosts_.set_time(now);
  for (const auto& host : hosts_) {
    if (host->has_ended()) continue;
    HostRights rights = config_.rights->rights_of(host->link());
    const bool is_new = rights != host->rights();
    if (is_new) host->set_rights(std::move(rights));
    compare_name(*host);
    if (!nic_service_.enforce(*host, is_new)) continue;
    if (host->is_up()) {
      owner_.on_host_down(*this, *host, "its rights do not permit all of its settings any more");
    } else {
      end(*host, now);
    }
  }
  ownership_.set_due();
}

void LanNic::end(AttachedHost& host, base::Time now) {
  if (host.has_ended()) return;
  parked_.park(host.identity().process(), host.nic(), now);
  host.fail();
}

bool LanNic::step(base::Time now) {
  bool made_progress = false;
  hosts_.set_time(now);
  port_.flush();  // also the frames of a host that was removed
  for (std::size_t i = 0; i < hosts_.size(); ++i) made_progress |= hosts_[i].poll(now);
  if (nic_service_.step(now)) on_event();
  hosts_.exchange_news(now);
  if (tx_.step(now)) {
    made_progress = true;
    // If the LAN peer runs on this machine, its reply to what was just sent may be in the port: it
    // is read in this iteration, though no poll has reported it, and leaves with the
    // acknowledgement.
    rx_.set_readable(true);
  }
  made_progress |= rx_.step(now);
  for (const auto& host : hosts_) {
    if (is_stopping_) host->begin_close();
    host->notify(state_, now);
    if (host->expire(now)) {
      counters_.add(LanCounter::kHostsSilent);
      const std::string& name = host->identity().name();
      base::log_info({base::EventKind::kDisconnected, name},
                     "host " + name + " removed: its link was down for " +
                         std::to_string(HostLife::kAwayMax / std::chrono::seconds(1)) + " s");
    }
  }
  remove_ended(now);
  share_output();
  if (ownership_.step(now)) on_event();
  return made_progress;
}

base::Time LanNic::deadline() const {
  base::Time at = std::min({rx_.deadline(), nic_service_.deadline(), ownership_.deadline()});
  for (const auto& host : hosts_) at = std::min(at, host->deadline());
  return at;
}

void LanNic::remove_ended(base::Time now) {
  for (const auto& host : hosts_) {
    if (host->has_ended()) owner_.on_host_gone(*host);
  }
  hosts_.remove_ended(now);
}

// Only hosts that are here at the end of the iteration count: one that was refused, or has come
// back on another connection, does not share the output [S001-08].
void LanNic::share_output() {
  const bool is_shared = hosts_.size() > 1;
  if (is_shared == is_output_shared_) return;
  is_output_shared_ = is_shared;
  port_.share_output(is_shared);
}

void LanNic::on_return() {
  ownership_.on_return();
  nic_service_.on_return();
  on_event();
}

void LanNic::on_event() {
  const lan::PortState state = port_.state();
  const bool is_news = state.link_up != state_.link_up || state.mtu != state_.mtu ||
                       state.speed_mbps != state_.speed_mbps ||
                       state.full_duplex != state_.full_duplex;
  const lan::PortState before = std::exchange(state_, state);
  if (state.mac != before.mac) ownership_.set_due();  // whoever changed it
  if (!is_news) return;
  owner_.on_lan_change(port_, before, state_);
  for (const auto& host : hosts_) host->on_lan_change(state_);
}

void LanNic::on_host_up(AttachedHost& host) {
  host.notifier().set_announce_due();
  owner_.on_host_up(*this, host);
}

void LanNic::on_host_down(AttachedHost& host, const std::string& why) {
  owner_.on_host_down(*this, host, why);
}

// An ECHO does not prove that the host has the reply to INIT_NIC: its user may request one any
// time.
messaging::CfgReply LanNic::on_cfg_request(AttachedHost& host,
                                           const messaging::CfgRequest& request) {
  if (request.code != messaging::CfgCode::kEcho) host.news().set_due();
  if (request.code == messaging::CfgCode::kInitNic)
    host.notifier().events().on_init_request();
  else if (request.code != messaging::CfgCode::kEcho)
    host.notifier().events().on_other_request();
  const NicSettings before = host.nic();
  auto reply = nic_service_.serve(host, request);
  ownership_.set_due();
  const NicSettings& after = host.nic();
  if (before.mac != after.mac || before.mtu != after.mtu ||
      before.filter.promiscuous != after.filter.promiscuous) {
    owner_.on_host_change(host, before);
  }
  // It may have changed the NIC, of which all hosts hear at once.
  if (request.code != messaging::CfgCode::kEcho) on_event();
  return reply;
}

void LanNic::begin_stop() {
  is_stopping_ = true;
  rx_.stop();
}

bool LanNic::is_drained() const {
  if (port_.write_pending()) return false;
  return std::ranges::all_of(hosts_.all(), [](const auto& host) { return host->is_drained(); });
}

void LanNic::close_all(base::Time now) {
  for (const auto& host : hosts_) host->fail();
  remove_ended(now);
  share_output();
  ownership_.end();
}

void LanNic::visit_host_counters(const AttachedHost& host,
                                 const base::CounterVisitor& visitor) const {
  std::string name = label_of(host);
  if (name.empty()) return;
  name = "host." + name + ".";
  const auto of_host = [&, length = name.size()](std::string_view counter, std::uint64_t value) {
    name.resize(length);
    name.append(counter);
    visitor(name, value);
  };
  host.stats().counters.visit(of_host);
  host.stats().rmon.counters().visit(of_host);
}

void LanNic::visit_counters(const base::CounterVisitor& visitor) const {
  const auto named = [&](std::string_view name, std::uint64_t value) {
    if (config_.number == 0 || !name.starts_with("lan.")) return visitor(name, value);
    visitor("lan" + std::to_string(config_.number) + std::string(name.substr(3)), value);
  };
  counters_.visit(named);
  hosts_.visit_sums(named);
  port_.visit_counters([&](std::string_view name, std::uint64_t value) {
    named("lan.port." + std::string(name), value);
  });
}

}  // namespace splitnic::iou
