#include "iou_module/host_table.h"

#include <algorithm>

namespace splitnic::iou {

void HostTable::remove_ended(base::Time now) {
  std::erase_if(hosts_, [&](const auto& host) {
    if (!host->has_ended()) return false;
    host->close(now);
    removed_.merge(host->counters());
    host->pair().visit_counters([this](std::string_view name, std::uint64_t value) {
      removed_pairs_.try_emplace(std::string(name)).first->second += value;
    });
    return true;
  });
}

void HostTable::abandon(base::Time now) {
  for (const auto& host : hosts_) host->pair().close(now);
  hosts_.clear();
}

AttachedHost* HostTable::find(fabric::ConnectionId id) const {
  const auto at = std::ranges::find_if(hosts_, [&](const auto& h) { return h->pair().has(id); });
  return at == hosts_.end() ? nullptr : at->get();
}

AttachedHost* HostTable::sole_up() const {
  AttachedHost* found = nullptr;
  for (const auto& host : hosts_) {
    if (!host->is_up()) continue;
    if (found != nullptr) return nullptr;
    found = host.get();
  }
  return found;
}

bool HostTable::is_taken(const lan::MacAddress& mac, const AttachedHost& by) const {
  return std::ranges::any_of(hosts_, [&](const auto& host) {
    return host.get() != &by && !host->has_ended() && host->nic().owns(mac);
  });
}

bool HostTable::distribute(base::Bytes frame, const AttachedHost* except) const {
  const lan::MacAddress destination = lan::destination_mac(frame.subspan(lan::kVnetHeaderBytes));
  bool is_wanted = false;
  for (const auto& host : hosts_) {
    if (host.get() == except || !host->wants(destination)) continue;
    host->queue_copy(frame);
    is_wanted = true;
  }
  return is_wanted;
}

void HostTable::visit_sums(const base::CounterVisitor& visitor) const {
  base::Counters<HostCounter> sums = removed_;
  for (const auto& host : hosts_) sums.merge(host->counters());
  sums.visit(visitor);
}

void HostTable::visit_hosts(const base::CounterVisitor& visitor) const {
  for (const auto& [name, value] : removed_pairs_) visitor(name, value);
  for (const auto& host : hosts_) {
    host->pair().visit_counters(visitor);
    if (host->nic().node_name.empty()) continue;
    const auto of_host = [&](std::string_view name, std::uint64_t value) {
      visitor("host." + host->nic().node_name + "." + std::string(name), value);
    };
    host->counters().visit(of_host);
    host->rmon().counters().visit(of_host);
  }
}

}  // namespace splitnic::iou
