// Connection requests of hosts: checks whether the host may attach to the NIC that it names, and to
// which queue.
#include <algorithm>

#include "base/event.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "iou_module/iou.h"
#include "messaging/any_nic.h"

namespace splitnic::iou {
namespace {

// Returns the number of the NIC that a CONNECT_REQ is for, which may not exist.
std::uint32_t nic_for(const HostRights& rights, const fabric::Mgmt& request) {
  const std::uint32_t asked = messaging::nic_asked(request.private_data);
  if (asked != messaging::kAnyNic) return asked;
  return rights.nics.empty() ? 0 : std::ranges::min(rights.nics);
}

}  // namespace

fabric::MgmtReject Iou::on_connect_request(fabric::ConnectionId id, fabric::Link& link,
                                           const fabric::Mgmt& request, fabric::Mgmt& reply) {
  if (!limits_of(link).requests.take(now_)) {
    counters_.add(IouCounter::kRefusedOften);
    return fabric::MgmtReject::kNoResources;
  }
  if (messaging::queues_asked(request.private_data).is_additional()) {
    return accept_additional(id, link, request, reply);
  }
  if (const auto code = check_request(link, request, reply); code != fabric::MgmtReject::kNone) {
    report_refusal(link, code, reply);
    return code;
  }
  attaches_.push_back({attacher_of(link), now_});
  limits_of(link).attaches.take(now_);
  end_former(link);
  LanNic& nic = *nics_[nic_for(rights().rights_of(link), request)];
  const fabric::MgmtReject code = nic.accept(id, link, request, reply, now_);
  if (code == fabric::MgmtReject::kNoResources) counters_.add(IouCounter::kRefusedMemory);
  return code;
}

// Of a host that requests again and again: once, and then once per minute.
void Iou::report_refusal(const fabric::Link& link, fabric::MgmtReject code,
                         const fabric::Mgmt& reply) {
  if (config_.queue > 0 || is_stopping_ || !refusals_.note(&link, now_)) return;
  std::string why(reinterpret_cast<const char*>(reply.private_data.data()),
                  reply.private_data.size());
  if (why.empty()) {
    why = code == fabric::MgmtReject::kNoResources
              ? "it comes too often, or the unit lacks room"
              : "its CONNECT_REQ is not valid: run the same version of splitnic on both machines";
  }
  base::log_warn({base::EventKind::kRefused, link.peer_name()},
                 "the host at " + link.peer_name() + " is refused: " + why);
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
    return host->has_ended() ? base::Time::min() : host->life().attached_at();
  });
  if (last == all.end() || (*last)->has_ended()) return;
  counters_.add(IouCounter::kEndedMemory);
  disconnect([&](const AttachedHost& host) { return &host == *last; },
             "the I/O unit is short of memory", now_);
}

fabric::MgmtReject Iou::check_request(const fabric::Link& link, const fabric::Mgmt& request,
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
    if (const auto admitted = config_.admission->check_admission(link); !admitted) {
      return refuse(IouCounter::kRefusedUnknown, admitted.error().text(), reply);
    }
  }
  const std::uint32_t number = nic_for(rights().rights_of(link), request);
  if (number >= nics_.size()) {
    return refuse(IouCounter::kRefusedNic, unknown_nic_text(number), reply);
  }
  if (const auto permitted = check_rights(link, number, request.partition); !permitted) {
    return refuse(IouCounter::kRefusedRights, permitted.error().text(), reply);
  }
  const bool comes_to_look = messaging::nic_asked(request.private_data) == messaging::kAnyNic;
  if (const auto holder = nics_[number]->holder(rights().id_of(link)); holder && !comes_to_look) {
    const std::string who = holder->name.empty() ? "another host" : "the host " + holder->name;
    return refuse(
        IouCounter::kRefusedOwned,
        "NIC " + std::to_string(number) + " is exclusive, and " + who + " has it until it leaves",
        reply);
  }
  const auto agreed =
      messaging::agree(request.private_data, config_.host.pair, messaging::ConnectRole::kPassive);
  if (!agreed) return refuse(IouCounter::kRefusedCapabilities, agreed.error().text(), reply);
  const auto others = std::ranges::count_if(hosts(), [&](const AttachedHost* host) {
    return !host->has_ended() && !is_same_process(*host, link);
  });
  if (static_cast<std::size_t>(others) >= config_.hosts_max) {
    refuse(IouCounter::kRefusedFull, "there are as many hosts as --max-hosts admits", reply);
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

base::Status Iou::check_rights(const fabric::Link& link, std::uint32_t nic,
                               fabric::PartitionKey partition) const {
  const HostRights rights = this->rights().rights_of(link);
  if (!rights.nics.empty() && std::ranges::find(rights.nics, nic) == rights.nics.end()) {
    return base::Error("this host may not use NIC " + std::to_string(nic));
  }
  if (!rights.may_use(partition)) {
    return base::Error("this host may not use partition " + fabric::text_of(partition));
  }
  if (config_.queue >= rights.queues_max) {
    return base::Error("this host may have " + std::to_string(rights.queues_max) + " queues");
  }
  return {};
}

std::vector<ListedNic> Iou::nics_for(const AttachedHost& host) {
  const std::vector<std::uint32_t>& permitted = host.rights().nics;
  std::vector<ListedNic> all;
  for (const auto& nic : nics_) {
    const auto number = static_cast<std::uint32_t>(nic->number());
    if (!permitted.empty() && std::ranges::find(permitted, number) == permitted.end()) continue;
    const bool is_in_use = std::ranges::any_of(
        nic->hosts(), [&](const auto& attached) { return attached.get() == &host; });
    all.push_back({number, nic->lan_state(), is_in_use});
  }
  return all;
}

void Iou::update_rights(base::Time now) {
  now_ = now;
  for (const auto& nic : nics_) {
    nic->update_rights(now);
    for (const auto& host : nic->hosts()) {
      if (host->has_ended()) continue;
      const auto permitted =
          check_rights(host->link(), static_cast<std::uint32_t>(nic->number()), host->partition());
      if (permitted) continue;
      report_disconnect(*host, permitted.error().text());
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

fabric::MgmtReject Iou::accept_additional(fabric::ConnectionId id, fabric::Link& link,
                                          const fabric::Mgmt& request, fabric::Mgmt& reply) {
  if (is_stopping_) return refuse(IouCounter::kRefusedStop, "the I/O unit is stopping", reply);
  const HostProcess process{rights().id_of(link), link.peer_instance()};
  for (AttachedHost* host : hosts()) {
    if (&host->link() == &link && !host->has_ended() && host->identity().process() == process) {
      return host->connection().accept(id, link, request, reply, now_);
    }
  }
  return refuse(IouCounter::kRefusedCapabilities, "its first queue or channel is not connected",
                reply);
}

bool Iou::is_too_often(const fabric::Link& link) {
  std::erase_if(attaches_, [&](const Attach& a) { return now_ - a.at >= kAttachInterval; });
  return !limits_of(link).attaches.may_take(now_) ||
         std::ranges::any_of(attaches_,
                             [&](const Attach& a) { return a.who == attacher_of(link); }) ||
         attaches_.size() >= kAttachesMax;
}

// Ports keep their links, so there are as many as slots; and as many keys, users and nodes as are
// allowed.
Iou::Attacher Iou::attacher_of(const fabric::Link& link) const {
  const HostId node = rights().id_of(link);
  if (node.proof == HostId::Proof::kNone) return {{}, &link};
  return {node.principal(), nullptr};
}

}  // namespace splitnic::iou
