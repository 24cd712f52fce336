#include "iou_module/lan_nic.h"

#include <algorithm>

#include "base/log.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::iou {
namespace {

constexpr std::size_t kScratchBytes = 1 << 20;
// A host whose link is down for longer is gone: its addresses are free again.
constexpr base::Duration kAwayMax = std::chrono::seconds(60);
constexpr base::Duration kEventEvery = std::chrono::milliseconds(10);  // to one host

}  // namespace

LanNic::LanNic(const LanNicConfig& config, fabric::Adapter& adapter, lan::FramePort& port,
               base::Random& random)
    : config_(config),
      adapter_(adapter),
      port_(port),
      random_(random),
      nic_service_(port, config.policy,
                   [this](const AttachedHost& asking, const lan::MacAddress& mac) {
                     return is_taken(asking, mac);
                   }),
      scratch_memory_(std::make_unique_for_overwrite<std::byte[]>(kScratchBytes)),
      scratch_({scratch_memory_.get(), kScratchBytes}, 1024),
      tagged_(std::make_unique_for_overwrite<std::byte[]>(kTaggedBytes)),
      state_(port.state()) {}

fabric::MgmtReject LanNic::accept(fabric::ConnectionId id, fabric::Link& link,
                                  const fabric::Mgmt& request, fabric::Mgmt& reply,
                                  messaging::PairOwner& owner, base::Time now) {
  SessionConfig config = config_.session;
  config.pair.queues = messaging::queues_given(request.private_data, config.pair);
  auto session = std::make_unique<AttachedHost>(config, adapter_, link, random_, owner);
  if (!session->is_registered()) return fabric::MgmtReject::kNoResources;
  const fabric::MgmtReject code = session->pair().accept(id, link, request, reply, now);
  session->nic.mtu = state_.mtu;
  if (code == fabric::MgmtReject::kNone)
    restore(*session, now);
  else
    session->failed = true;
  hosts_.push_back(std::move(session));
  return code;
}

bool LanNic::is_taken(const AttachedHost& by, const lan::MacAddress& mac) const {
  return std::ranges::any_of(
      hosts_, [&](const auto& s) { return s.get() != &by && !s->failed && s->nic.owns(mac); });
}

// An address that another host has taken meanwhile is not given back, and the host finds another
// digest than it expects.
void LanNic::restore(AttachedHost& host, base::Time now) {
  auto kept = parked_.take(host.identity(), now);
  if (!kept) return;
  const auto taken = [&](const lan::MacAddress& mac) { return is_taken(host, mac); };
  if ((kept->mac && taken(*kept->mac)) || std::ranges::any_of(kept->filter.unicast, taken)) return;
  kept->mtu = std::min(kept->mtu, state_.mtu);
  host.nic = *std::move(kept);
}

void LanNic::end(AttachedHost& host, base::Time now) {
  if (host.failed) return;
  host.failed = true;
  parked_.park(host.identity(), host.nic, now);
}

void LanNic::close(AttachedHost& host, base::Time now) {
  if (host.closed) return;
  host.closed = true;
  std::size_t has_counted = 0;  // have their name already, and wait for those before them
  for (std::size_t i = host.from_host_done; i < host.from_host_judged; ++i) {
    has_counted += host.is_not_for_lan[i] ? 1 : 0;
  }
  std::size_t arrived = host.pair().unreceived();
  for (std::size_t i = host.from_host_done; i < host.from_host.size(); ++i, ++arrived) {
    host.counters.add(HostCounter::kFromHostBytes, host.from_host[i].bytes.size());
  }
  host.counters.add(HostCounter::kFromHostFrames, arrived);
  host.counters.add(HostCounter::kDropEnded, arrived - has_counted);
  host.counters.add(HostCounter::kDropToHostEnded, host.waiting());
  host.counters.add(HostCounter::kLost, host.pair().pushes_in_flight());
  host.pair().close(now);
}

bool LanNic::step(base::Time now) {
  bool made_progress = false;
  port_.flush();  // also of a host that is gone
  for (std::size_t i = 0; i < hosts_.size(); ++i) made_progress |= hosts_[i]->pair().poll(now);
  made_progress |= move_from_hosts(now);
  made_progress |= move_from_lan(now);
  if (is_stopping_) begin_closing();
  for (const auto& s : hosts_) {
    tell_event(*s, now);
    ask_to_announce(*s);
    watch_link(*s, now);
  }
  remove_failed(now);
  watch_sharing();
  return made_progress;
}

// Of hosts to which everything has been given.
void LanNic::begin_closing() {
  for (const auto& s : hosts_) {
    if (s->closing || s->failed || !s->pair().up() || !s->idle()) continue;
    s->closing = true;
    s->pair().begin_close();
  }
}

void LanNic::watch_link(AttachedHost& host, base::Time now) {
  if (host.link().up())
    host.away_since = base::kNever;
  else if (host.away_since == base::kNever)
    host.away_since = now;
  else if (now - host.away_since >= kAwayMax && !host.failed) {
    base::log_info("host " + host.pair().peer_name() + " did not come back");
    counters_.add(LanCounter::kHostsSilent);
    host.failed = true;
  }
}

base::Time LanNic::deadline() const {
  base::Time at = base::kNever;
  if (full_since_ != base::kNever && now_ - full_since_ < kHeldMax) at = full_since_ + kHeldMax;
  for (const auto& s : hosts_) {
    at = std::min(at, s->pair().deadline());
    if (can_tell(*s)) at = std::min(at, s->event.not_before);
    if (s->away_since != base::kNever) at = std::min(at, s->away_since + kAwayMax);
  }
  return at;
}

AttachedHost* LanNic::find(const messaging::ChannelPair& pair) {
  const auto at =
      std::ranges::find_if(hosts_, [&](const auto& s) { return &s->pair().first() == &pair; });
  return at == hosts_.end() ? nullptr : at->get();
}

AttachedHost* LanNic::find(fabric::ConnectionId id) {
  const auto at = std::ranges::find_if(hosts_, [&](const auto& s) { return s->pair().has(id); });
  return at == hosts_.end() ? nullptr : at->get();
}

void LanNic::remove_failed(base::Time now) {
  std::erase_if(hosts_, [&](const auto& s) {
    if (!s->failed) return false;
    close(*s, now);
    ended_.merge(s->counters);
    s->pair().visit_counters([this](std::string_view name, std::uint64_t value) {
      ended_pairs_.try_emplace(std::string(name)).first->second += value;
    });
    return true;
  });
}

// By hosts that are here when the turn ends: one that was refused, or has come back on another
// connection, does not share it [S001-08].
void LanNic::watch_sharing() {
  const bool is_shared = hosts_.size() > 1;
  if (is_shared == is_output_shared_) return;
  is_output_shared_ = is_shared;
  port_.share_output(is_shared);
}

void LanNic::on_event() {
  const lan::PortState state = port_.state();
  const bool is_news = state.link_up != state_.link_up || state.mtu != state_.mtu;
  state_ = state;
  if (!is_news) return;
  ++news_;
  for (const auto& s : hosts_) {
    s->nic.mtu = std::min(s->nic.mtu, state_.mtu);
    ++s->event.wanted;
  }
}

// The answer to INIT_NIC tells the link, and a repeated INIT_NIC gets that answer again: what was
// told between the two comes before it and has to be told once more [S001-24].
messaging::CfgReply LanNic::serve(AttachedHost& host, const messaging::CfgRequest& request) {
  if (request.code == messaging::CfgCode::kInitNic) {
    host.event.is_init_last = true;
    host.event.init_news = news_;
  } else if (host.event.is_init_last && request.code != messaging::CfgCode::kEcho) {
    host.event.is_init_last = false;
    if (host.event.init_news != news_) ++host.event.wanted;
  }
  return nic_service_.serve(host, request);
}

bool LanNic::can_tell(const AttachedHost& host) {
  return host.event.is_due() && !host.event.is_open && !host.failed && host.pair().up() &&
         host.link().up();
}

void LanNic::tell_event(AttachedHost& host, base::Time now) {
  if (!can_tell(host) || now < host.event.not_before) return;
  host.event.not_before = now + kEventEvery;
  messaging::cfg::EventRequest event;
  event.set_generation(host.event.wanted);
  event.mutable_link()->set_up(state_.link_up);
  event.mutable_link()->set_speed_mbps(state_.speed_mbps);
  event.mutable_link()->set_full_duplex(state_.full_duplex);
  event.set_mtu(state_.mtu);
  const auto sent =
      host.pair().request(messaging::CfgCode::kEvent, event.SerializeAsString(),
                          [&told = host.event, number = host.event.wanted](const auto& reply) {
                            told.is_open = false;
                            if (reply.replied) told.told = number;
                          });
  host.event.is_open = sent.has_value();
}

// Switches may know it elsewhere: on another NIC, or not any more.
void LanNic::ask_to_announce(AttachedHost& host) {
  if (!host.owes_announce || !host.nic.started || !host.pair().up() || host.closing) return;
  host.owes_announce =
      !host.pair().request(messaging::CfgCode::kAnnounce, {}, [](const auto&) {}).has_value();
}

// Hosts that are away, or not up yet, are not waited for.
bool LanNic::is_drained() const {
  if (port_.write_pending()) return false;
  return std::ranges::all_of(hosts_, [](const auto& s) {
    if (s->failed || !s->link().up()) return true;
    return !s->pair().up() && s->pair().is_drained() && s->from_host.empty();
  });
}

void LanNic::close_all(base::Time now) {
  for (const auto& s : hosts_) s->failed = true;
  remove_failed(now);
  watch_sharing();
}

void LanNic::abandon(base::Time now) {
  for (const auto& s : hosts_) s->pair().close(now);
  hosts_.clear();
}

void LanNic::visit_counters(const base::CounterVisitor& visitor) const {
  const auto named = [&](std::string_view name, std::uint64_t value) {
    if (config_.number == 0 || !name.starts_with("lan.")) return visitor(name, value);
    visitor("lan" + std::to_string(config_.number) + std::string(name.substr(3)), value);
  };
  counters_.visit(named);
  base::Counters<HostCounter> all = ended_;
  for (const auto& s : hosts_) all.merge(s->counters);
  all.visit(named);
  port_.visit_counters([&](std::string_view name, std::uint64_t value) {
    named("lan.port." + std::string(name), value);
  });
  for (const auto& [name, value] : ended_pairs_) visitor(name, value);
  for (const auto& s : hosts_) {
    s->pair().visit_counters(visitor);
    if (s->nic.node_name.empty()) continue;
    const auto of_host = [&](std::string_view name, std::uint64_t value) {
      visitor("host." + s->nic.node_name + "." + std::string(name), value);
    };
    s->counters.visit(of_host);
    s->rmon.counters().visit(of_host);
  }
}

}  // namespace splitnic::iou
