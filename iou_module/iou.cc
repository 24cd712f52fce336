#include "iou_module/iou.h"

#include <algorithm>

#include "base/check.h"
#include "base/event.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "control/config/values.h"
#include "control/daemon/link_end_reasons.h"
#include "iou_module/hosts/host_label.h"

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

// At most once per connection: the queue pair that refused the access ends with it.
void Iou::note_refused_access(const AttachedHost& host) {
  if (!host.connection().has_refused_access()) return;
  const HostId principal = host.identity().node().principal();
  if (config_.siblings != nullptr) config_.siblings->notify_refused(principal);
  if (!quarantine_.note(principal, now_)) return;
  counters_.add(IouCounter::kQuarantined);
  const std::string& name = host.identity().name();
  base::log_warn({base::EventKind::kRefused, name},
                 "host " + name + " blocked for " +
                     std::to_string(Quarantine::kFor / std::chrono::seconds(1)) +
                     " s after repeated remote access errors");
}

void Iou::on_refused_access(const HostId& principal, base::Time now) {
  if (!quarantine_.note(principal, now)) return;
  end_hosts(
      [&](const AttachedHost& host) { return host.identity().node().principal() == principal; });
}

bool Iou::is_same_process(const AttachedHost& host, const fabric::Link& link) const {
  return &host.link() == &link ||
         host.identity().process() == HostProcess{rights().id_of(link), link.peer_instance()};
}

// A host has one connection: a new one ends the one before, whatever path that took. A path that
// was cut has not been silent for long enough to be down, when the host comes by another one.
void Iou::end_former(const fabric::Link& link) {
  end_hosts([&](const AttachedHost& host) { return is_same_process(host, link); });
}

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
  end_hosts([&](AttachedHost& host) {
    if (!which(host)) return false;
    ++count;
    report_disconnect(host, why);
    return true;
  });
  return count;
}

void Iou::report_disconnect(AttachedHost& host, const std::string& why) {
  if (config_.queue == 0) {
    const std::string& name = host.identity().name();
    base::log_info({base::EventKind::kDisconnected, name},
                   "host " + name + " disconnected: " + why);
  }
  count_down(host);
}

// Once for each that was counted as up, however it ends: the difference is the hosts that are here.
void Iou::count_down(AttachedHost& host) {
  if (!host.take_was_up()) return;
  counters_.add(config_.queue > 0 ? IouCounter::kQueuesDown : IouCounter::kHostsDown);
}

fabric::MgmtReject Iou::refuse(IouCounter counter, std::string why, fabric::Mgmt& reply) {
  counters_.add(counter);
  refusal_ = std::move(why);
  reply.private_data = base::as_bytes(refusal_);
  return fabric::MgmtReject::kRefused;
}

void Iou::on_link_up(fabric::Link& link) {
  duplicates_.on_link_up(&link);
  refusals_.on_link_up(&link);
  foreigners_.on_link_up(&link);
  if (links_down_.erase(&link) == 0) return;
  base::log_info({base::EventKind::kLinkUp, link.peer_name()},
                 "link to host " + link.peer_name() + " is up again");
}

void Iou::on_link_down(fabric::Link& link, std::string_view why) {
  links_down_.insert(&link);
  if (why == control::kClosedHere) return;  // whoever closed it has reported why
  const std::string host = "host " + link.peer_name();
  base::log_info({base::EventKind::kLinkDown, link.peer_name()},
                 why == control::kPeerStopped
                     ? host + " stopped"
                     : "link to " + host + " is down: " + std::string(why));
}

void Iou::on_duplicate(fabric::Link& link, std::string_view from) {
  counters_.add(IouCounter::kRefusedDuplicate);
  if (config_.queue > 0 || !duplicates_.note(&link, now_)) return;
  std::string name = link.peer_name();
  for (const AttachedHost* host : hosts()) {
    if (&host->link() == &link && !host->has_ended())
      name.insert(0, host->identity().name() + " at ");
  }
  base::log_warn({base::EventKind::kRefused, std::string(from)},
                 "a second host at " + std::string(from) + " is refused: it has the identity of " +
                     name +
                     ", which is connected; is one machine a copy of the other? Give one of "
                     "them another --name");
}

void Iou::on_second_process(const void* who, const std::string& name, const std::string& at,
                            const std::string& from) {
  if (config_.queue > 0 || !duplicates_.note(who, now_)) return;
  base::log_warn({base::EventKind::kRefused, from},
                 "a second host at " + from + " has the key of " + name + " at " + at +
                     ": it is refused while the first is connected, but at one address they end "
                     "the session of each other; make a key for each machine (splitnic keygen)");
}

// It gets no reply, so its own log has no reason.
void Iou::on_foreign_partition(fabric::Link& link, fabric::PartitionKey key) {
  counters_.add(IouCounter::kRefusedPartition);
  if (config_.queue > 0 || !foreigners_.note(&link, now_)) return;
  base::log_warn("a host at " + link.peer_name() + " gets no reply: it is in partition " +
                 fabric::text_of(key) + ", and this I/O unit is not: give both one --partition");
}

// Where the link does not cut longer cells into fragments, its hosts connect once more. Queue pairs
// are not ended in the middle of a flush, so they end in the next iteration.
void Iou::on_path_narrowed(fabric::Link& link) {
  base::log_info("the path to " + link.peer_name() + " now carries cells of at most " +
                 std::to_string(link.mcp()) + " bytes" +
                 (link.uses_fragments() ? ": longer ones are sent in fragments" : ""));
  if (!link.uses_fragments()) narrowed_.push_back(&link);
}

// Cells of the old size no longer pass such a link: its host connects again and gets smaller ones.
// A connection that was made since has smaller ones already.
void Iou::end_hosts_of_narrowed_links() {
  for (const fabric::Link* link : narrowed_) {
    const bool is_too_wide = std::ranges::any_of(hosts(), [&](AttachedHost* host) {
      return &host->link() == link && host->connection().first().cell_payload_max() > link->mcp();
    });
    if (is_too_wide) end_hosts_of(*link);
  }
  narrowed_.clear();
}

void Iou::on_disconnected(fabric::ConnectionId id, std::string_view why) {
  for (const auto& nic : nics_) {
    if (AttachedHost* host = nic->find(id); host != nullptr) {
      return host->connection().on_disconnected(id, why);
    }
  }
}

void Iou::on_host_up(LanNic& nic, AttachedHost& host) {
  const std::string& name = host.identity().name();
  if (config_.queue > 0) {
    counters_.add(IouCounter::kQueuesUp);
    return base::log_debug("queue " + std::to_string(config_.queue) + " of host " + name +
                           " attached");
  }
  counters_.add(IouCounter::kHostsUp);
  base::log_info({base::EventKind::kConnected, name},
                 "host " + name + " attached from " + host.link().peer_name() +
                     (nics_.size() == 1 ? "" : " to NIC " + std::to_string(nic.number())));
}

void Iou::on_host_down(LanNic& nic, AttachedHost& host, const std::string& why) {
  const std::string& name = host.identity().name();
  count_down(host);
  if (config_.queue > 0) {
    base::log_debug("queue " + std::to_string(config_.queue) + " of host " + name +
                    " detached: " + why);
  } else {
    base::log_info({base::EventKind::kDisconnected, name}, "host " + name + " detached: " + why);
  }
  note_refused_access(host);
  nic.end(host, now_);
}

void Iou::on_lan_change(const lan::FramePort& port, const lan::PortState& before,
                        const lan::PortState& now) {
  if (config_.queue > 0) return;
  if (now.link_up != before.link_up) {
    base::log_info(
        {now.link_up ? base::EventKind::kCarrierOn : base::EventKind::kCarrierOff, port.name()},
        port.name() + (now.link_up ? " has carrier" : " has no carrier"));
  }
  if (now.mtu != before.mtu) {
    base::log_info({base::EventKind::kMtu, port.name()},
                   port.name() + " has the MTU " + std::to_string(now.mtu));
  }
}

void Iou::on_host_change(const AttachedHost& host, const NicSettings& before) {
  if (config_.queue > 0) return;
  const std::string& name = host.identity().name();
  const NicSettings& now = host.nic();
  if (now.mac && now.mac != before.mac) {
    base::log_info({base::EventKind::kMac, name},
                   "host " + name + " has the MAC address " + control::mac_text(*now.mac));
  }
  if (now.mtu != before.mtu) {
    base::log_info({base::EventKind::kMtu, name},
                   "host " + name + " has the MTU " + std::to_string(now.mtu));
  }
  if (now.filter.promiscuous != before.filter.promiscuous) {
    base::log_info(
        {base::EventKind::kNote, name},
        "host " + name +
            (now.filter.promiscuous ? " is in promiscuous mode: it receives the frames of others"
                                    : " has left promiscuous mode"));
  }
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

std::string Iou::label_of(const AttachedHost& host) const { return iou::label_of(host, hosts()); }

std::size_t Iou::hosts_up() const {
  return static_cast<std::size_t>(std::ranges::count_if(hosts(), [](const AttachedHost* host) {
    return host->connection().up() && host->link().up();
  }));
}

std::uint64_t Iou::bytes_processed() const {
  std::uint64_t bytes = 0;
  for (const auto& nic : nics_) bytes += nic->bytes_processed();
  return bytes;
}

void Iou::visit_counters(const base::CounterVisitor& visitor) const {
  visit_shared_counters(visitor);
  for (const auto& nic : nics_) {
    for (const auto& host : nic->hosts()) nic->visit_host_counters(*host, visitor);
  }
}

void Iou::visit_shared_counters(const base::CounterVisitor& visitor) const {
  counters_.visit(visitor);
  adapter_.visit_counters(visitor);
  for (const auto& nic : nics_) nic->visit_counters(visitor);
}

}  // namespace splitnic::iou
