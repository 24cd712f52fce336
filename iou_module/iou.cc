#include "iou_module/iou.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "base/memory_reserve.h"

namespace splitnic::iou {
namespace {

constexpr base::Duration kWakeAgain = std::chrono::milliseconds(1);

}  // namespace

Iou::Iou(const IouConfig& config, fabric::Adapter& adapter, std::span<lan::FramePort* const> lans,
         base::Random& random)
    : config_(config), adapter_(adapter) {
  CHECK(!lans.empty());
  LanNicOwner& self = *this;
  for (lan::FramePort* lan : lans) {
    const LanNicConfig nic{nics_.size(),    config.host, config.policy,
                           config.siblings, &rights(),   &limits_};
    nics_.push_back(std::make_unique<LanNic>(nic, adapter, *lan, random, self));
  }
  adapter_.connections().set_handler(*this);
}

Iou::~Iou() = default;

bool Iou::step(base::Time now) {
  now_ = now;
  bool made_progress = adapter_.receive(now);
  end_hosts_of_narrowed_links();
  if (base::is_memory_short()) make_room();
  if (config_.siblings != nullptr) {
    made_progress |= config_.siblings->take_handed([this](auto nic, auto node, auto frame) {
      nics_[nic]->on_handed(node, frame);
    }) > 0;
  }
  for (const auto& nic : nics_) made_progress |= nic->step(now);
  adapter_.transmit(now);
  if (config_.siblings != nullptr) {
    wake_again_at_ = config_.siblings->wake() ? base::kNever : now + kWakeAgain;
  }
  return made_progress;
}

bool Iou::step(base::Time now, bool lan_readable) {
  for (const auto& nic : nics_) nic->set_readable(lan_readable);
  return step(now);
}

base::Time Iou::deadline() const {
  base::Time at = std::min(adapter_.deadline(), wake_again_at_);
  for (const auto& nic : nics_) at = std::min(at, nic->deadline());
  return at;
}

fabric::MgmtReject Iou::on_connect_request(fabric::ConnectionId id, fabric::Link& link,
                                           const fabric::Mgmt& request, fabric::Mgmt& reply) {
  if (messaging::queues_asked(request.private_data).queue != 0) {
    return accept_queue(id, link, request, reply);
  }
  if (const auto code = check(link, request, reply); code != fabric::MgmtReject::kNone) return code;
  attaches_.push_back({attacher_of(link), now_});
  attach_limit(link).take(now_);
  end_hosts_of(link);
  LanNic& nic = *nics_[messaging::nic_asked(request.private_data)];
  const fabric::MgmtReject code = nic.accept(id, link, request, reply, now_);
  if (code == fabric::MgmtReject::kNoResources) counters_.add(IouCounter::kRefusedMemory);
  return code;
}

bool Iou::has_memory_for_host() const {
  std::size_t bytes = kMemoryOfHost + config_.host.ring_bytes;
  for (const messaging::PoolSpec& pool : config_.host.pair.pools) {
    bytes += std::size_t{pool.count} * pool.size;
  }
  return !base::is_memory_short() && base::has_memory_for(bytes);
}

// The reserve is in use. The host that came last makes room if the system has none for the reserve.
void Iou::make_room() {
  if (base::restore_memory_reserve()) return;
  const auto all = hosts();
  const auto last = std::ranges::max_element(all, {}, [](const AttachedHost* host) {
    return host->has_ended() ? base::Time::min() : host->attached_at();
  });
  if (last == all.end() || (*last)->has_ended()) return;
  counters_.add(IouCounter::kEndedMemory);
  disconnect([&](const AttachedHost& host) { return &host == *last; },
             "the I/O unit is short of memory", now_);
}

fabric::MgmtReject Iou::check(const fabric::Link& link, const fabric::Mgmt& request,
                              fabric::Mgmt& reply) {
  if (is_stopping_) return refuse(IouCounter::kRefusedStop, "the I/O unit is stopping", reply);
  if (const auto left = quarantine_.left(rights().id_of(link).principal(), now_);
      left > base::Duration{0}) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
    return refuse(IouCounter::kRefusedQuarantine,
                  "this host is blocked after repeated remote access errors: retry in " +
                      std::to_string(seconds) + " s",
                  reply);
  }
  if (config_.admission != nullptr) {
    if (auto why = config_.admission->refusal_of(link)) {
      return refuse(IouCounter::kRefusedUnknown, *std::move(why), reply);
    }
  }
  const std::uint32_t number = messaging::nic_asked(request.private_data);
  if (number >= nics_.size()) {
    return refuse(IouCounter::kRefusedNic, unknown_nic_text(number), reply);
  }
  if (const auto why = not_permitted(link, number)) {
    return refuse(IouCounter::kRefusedRights, *why, reply);
  }
  const auto agreed =
      messaging::agree(request.private_data, config_.host.pair, messaging::ConnectRole::kPassive);
  if (!agreed) return refuse(IouCounter::kRefusedCapabilities, agreed.error().text(), reply);
  const auto others = std::ranges::count_if(
      hosts(), [&](AttachedHost* host) { return !host->has_ended() && &host->link() != &link; });
  if (static_cast<std::size_t>(others) >= config_.hosts_max) {
    counters_.add(IouCounter::kRefusedFull);
    return fabric::MgmtReject::kNoResources;
  }
  if (is_too_often(link)) {
    counters_.add(IouCounter::kRefusedOften);
    return fabric::MgmtReject::kNoResources;
  }
  if (!has_memory_for_host()) {
    refuse(IouCounter::kRefusedMemory, "the I/O unit is short of memory", reply);
    return fabric::MgmtReject::kNoResources;
  }
  return fabric::MgmtReject::kNone;
}

const RightsSource& Iou::rights() const {
  return config_.rights != nullptr ? *config_.rights : same_rights_;
}

std::optional<std::string> Iou::not_permitted(const fabric::Link& link, std::uint32_t nic) const {
  const HostRights rights = this->rights().rights_of(link);
  if (!rights.nics.empty() && std::ranges::find(rights.nics, nic) == rights.nics.end()) {
    return "this host may not use NIC " + std::to_string(nic);
  }
  if (config_.queue >= rights.queues_max) {
    return "this host may have " + std::to_string(rights.queues_max) + " queues";
  }
  return std::nullopt;
}

void Iou::update_rights(base::Time now) {
  for (const auto& nic : nics_) {
    nic->update_rights(now);
    for (const auto& host : nic->hosts()) {
      if (host->has_ended()) continue;
      const auto why = not_permitted(host->link(), static_cast<std::uint32_t>(nic->number()));
      if (!why) continue;
      report_disconnect(*host, *why);
      nic->end(*host, now);
    }
  }
}

std::string Iou::unknown_nic_text(std::uint32_t requested) const {
  const std::size_t count = nics_.size();
  return "there is no NIC " + std::to_string(requested) + ": the I/O unit has " +
         (count == 1
              ? "one NIC, --nic 0"
              : std::to_string(count) + " NICs, --nic 0 to --nic " + std::to_string(count - 1));
}

fabric::MgmtReject Iou::accept_queue(fabric::ConnectionId id, fabric::Link& link,
                                     const fabric::Mgmt& request, fabric::Mgmt& reply) {
  if (is_stopping_) return refuse(IouCounter::kRefusedStop, "the I/O unit is stopping", reply);
  const HostIdentity identity{rights().id_of(link), link.peer_instance()};
  for (AttachedHost* host : hosts()) {
    if (&host->link() == &link && !host->has_ended() && host->identity() == identity) {
      return host->pair().accept(id, link, request, reply, now_);
    }
  }
  return refuse(IouCounter::kRefusedCapabilities, "its first queue is not connected", reply);
}

bool Iou::is_too_often(const fabric::Link& link) {
  std::erase_if(attaches_, [&](const Attach& a) { return now_ - a.at >= kAttachInterval; });
  return !attach_limit(link).may_take(now_) || std::ranges::any_of(attaches_, [&](const Attach& a) {
    return a.who == attacher_of(link);
  }) || attaches_.size() >= kAttachesMax;
}

// Ports keep their links, so there are as many as slots; and as many keys, users and nodes as are
// allowed.
Iou::Attacher Iou::attacher_of(const fabric::Link& link) const {
  const HostId node = rights().id_of(link);
  if (node.proof == HostId::Proof::kNone) return {{}, &link};
  return {node.principal(), nullptr};
}

base::RateLimit& Iou::attach_limit(const fabric::Link& link) {
  return attach_limits_.try_emplace(attacher_of(link), kAttachIntervalOfLink, kAttachBurstOfLink)
      .first->second;
}

// At most once per connection: the queue pair that refused the access ends with it.
void Iou::note_refused_access(const AttachedHost& host) {
  if (!host.pair().has_refused_access()) return;
  const HostId principal = host.identity().node.principal();
  if (config_.siblings != nullptr) config_.siblings->notify_refused(principal);
  if (!quarantine_.note(principal, now_)) return;
  counters_.add(IouCounter::kQuarantined);
  base::log_warn("host " + host.name() + " blocked for " +
                 std::to_string(Quarantine::kFor / std::chrono::seconds(1)) +
                 " s after repeated remote access errors");
}

void Iou::on_refused_access(const HostId& principal, base::Time now) {
  if (!quarantine_.note(principal, now)) return;
  end_hosts(
      [&](const AttachedHost& host) { return host.identity().node.principal() == principal; });
}

// A host has one connection: a new one ends the one before.
void Iou::end_hosts_of(const fabric::Link& link) {
  end_hosts([&](const AttachedHost& host) { return &host.link() == &link; });
}

template <class Which>
void Iou::end_hosts(Which&& which) {
  for (const auto& nic : nics_) {
    for (const auto& host : nic->hosts()) {
      if (host->has_ended() || !which(*host)) continue;
      note_refused_access(*host);
      nic->end(*host, now_);
      host->close(now_);
    }
  }
}

std::size_t Iou::disconnect(const std::function<bool(const AttachedHost& host)>& which,
                            const std::string& why, base::Time now) {
  now_ = now;
  std::size_t count = 0;
  end_hosts([&](const AttachedHost& host) {
    if (!which(host)) return false;
    ++count;
    report_disconnect(host, why);
    return true;
  });
  return count;
}

void Iou::report_disconnect(const AttachedHost& host, const std::string& why) {
  if (config_.queue == 0) base::log_info("host " + host.name() + " disconnected: " + why);
  if (host.is_up()) {
    counters_.add(config_.queue > 0 ? IouCounter::kQueuesDown : IouCounter::kHostsDown);
  }
}

fabric::MgmtReject Iou::refuse(IouCounter counter, std::string why, fabric::Mgmt& reply) {
  counters_.add(counter);
  refusal_ = std::move(why);
  reply.private_data = base::as_bytes(refusal_);
  return fabric::MgmtReject::kRefused;
}

void Iou::on_link_down(fabric::Link& link, std::string_view why) {
  base::log_info("link to host " + link.peer_name() + " is down: " + std::string(why));
}

void Iou::on_duplicate(fabric::Link& link, std::string_view from) {
  counters_.add(IouCounter::kRefusedDuplicate);
  if (config_.queue > 0 || !duplicates_.note(&link, now_)) return;
  std::string name = link.peer_name();
  for (const AttachedHost* host : hosts()) {
    if (&host->link() == &link && !host->has_ended()) name.insert(0, host->name() + " at ");
  }
  base::log_warn("a second host at " + std::string(from) + " is refused: it has the identity of " +
                 name +
                 ", which is connected; is one machine a copy of the other? Give one of "
                 "them another --name");
}

// Queue pairs are not ended in the middle of a flush, so the hosts end in the next iteration.
void Iou::on_path_narrowed(fabric::Link& link) {
  base::log_info("the path to " + link.peer_name() + " now carries cells of at most " +
                 std::to_string(link.mcp()) + " bytes");
  narrowed_.push_back(&link);
}

// Cells of the old size no longer pass such a link: its host connects again and gets smaller ones.
// A connection that was made since has smaller ones already.
void Iou::end_hosts_of_narrowed_links() {
  for (const fabric::Link* link : narrowed_) {
    const bool is_too_wide = std::ranges::any_of(hosts(), [&](AttachedHost* host) {
      return &host->link() == link && host->pair().cell_payload_max() > link->mcp();
    });
    if (is_too_wide) end_hosts_of(*link);
  }
  narrowed_.clear();
}

void Iou::on_disconnected(fabric::ConnectionId id, std::string_view why) {
  for (const auto& nic : nics_) {
    if (AttachedHost* host = nic->find(id); host != nullptr) {
      return host->pair().on_disconnected(id, why);
    }
  }
}

void Iou::on_host_up(LanNic& nic, AttachedHost& host) {
  if (config_.queue > 0) {
    counters_.add(IouCounter::kQueuesUp);
    return base::log_debug("queue " + std::to_string(config_.queue) + " of host " + host.name() +
                           " attached");
  }
  counters_.add(IouCounter::kHostsUp);
  base::log_info("host " + host.name() + " attached" +
                 (nics_.size() == 1 ? "" : " to NIC " + std::to_string(nic.number())));
}

void Iou::on_host_down(LanNic& nic, AttachedHost& host, const std::string& why) {
  if (config_.queue > 0) {
    counters_.add(IouCounter::kQueuesDown);
    base::log_debug("queue " + std::to_string(config_.queue) + " of host " + host.name() +
                    " detached: " + why);
  } else {
    counters_.add(IouCounter::kHostsDown);
    base::log_info("host " + host.name() + " detached: " + why);
  }
  note_refused_access(host);
  nic.end(host, now_);
}

void Iou::begin_stop() {
  is_stopping_ = true;
  for (const auto& nic : nics_) nic->begin_stop();
}

bool Iou::is_drained() const {
  if (config_.siblings != nullptr && config_.siblings->has_handed()) return false;
  return std::ranges::all_of(nics_, [](const auto& nic) { return nic->is_drained(); });
}

void Iou::stop(base::Time now) {
  is_stopping_ = true;  // no host is admitted any more
  for (const auto& nic : nics_) nic->close_all(now);
  adapter_.poll(now);
  for (const auto& port : adapter_.ports()) {
    port->send_bye(now);
    port->flush(now);
  }
}

void Iou::abandon(base::Time now) {
  for (const auto& nic : nics_) nic->abandon(now);
}

std::vector<AttachedHost*> Iou::hosts() const {
  std::vector<AttachedHost*> all;
  for (const auto& nic : nics_) {
    for (const auto& host : nic->hosts()) all.push_back(host.get());
  }
  return all;
}

std::size_t Iou::hosts_up() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      hosts(), [](const AttachedHost* host) { return host->pair().up() && host->link().up(); }));
}

std::uint64_t Iou::bytes_processed() const {
  std::uint64_t bytes = 0;
  for (const auto& nic : nics_) bytes += nic->bytes_processed();
  return bytes;
}

void Iou::visit_counters(const base::CounterVisitor& visitor) const {
  counters_.visit(visitor);
  adapter_.visit_counters(visitor);
  for (const auto& nic : nics_) nic->visit_counters(visitor);
}

}  // namespace splitnic::iou
