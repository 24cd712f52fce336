#include "iou_module/hosts/neighbours.h"

#include <algorithm>

namespace splitnic::iou {

// Pointers into hosts_ end with it, so nobody is absent until the next observe().
void Neighbours::learn(std::size_t queue, const HostNews& news, base::Time now) {
  absent_.clear();
  auto host = std::ranges::find(hosts_, news.node, &Host::node);
  if (host == hosts_.end()) {
    if (news.is_gone) return;
    host = hosts_.insert(hosts_.end(), {news.node, {}});
  }
  base::Time stopped_since = now;
  std::erase_if(host->at, [&](const At& at) {
    if (at.queue != queue) return false;
    if (!at.settings.started) stopped_since = at.stopped_since;
    return true;
  });
  if (!news.is_gone) {
    const auto after =
        std::ranges::find_if(host->at, [&](const At& at) { return at.queue > queue; });
    host->at.insert(after, {queue, news.is_usable, news.settings, news.macs, stopped_since});
  }
  if (host->at.empty()) hosts_.erase(host);
}

bool Neighbours::owns(const lan::MacAddress& mac, const HostId& by, base::Time now) const {
  const auto owns_it = [&](const At& at) { return at.settings.owns(mac) && at.is_owner(now); };
  return std::ranges::any_of(hosts_, [&](const Host& host) {
    return host.node != by && std::ranges::any_of(host.at, owns_it);
  });
}

std::vector<lan::MacAddress> Neighbours::addresses_of(std::size_t queue, const HostId& node,
                                                      base::Time now) const {
  const auto host = std::ranges::find(hosts_, node, &Host::node);
  if (host == hosts_.end()) return {};
  const auto at = std::ranges::find(host->at, queue, &At::queue);
  if (at == host->at.end() || !at->is_owner(now)) return {};
  return at->settings.addresses();
}

bool Neighbours::has_right_to(const lan::MacAddress& mac) const {
  const auto lists_it = [&](const At& at) {
    return std::ranges::find(at.macs, mac) != at.macs.end();
  };
  return std::ranges::any_of(
      hosts_, [&](const Host& host) { return std::ranges::any_of(host.at, lists_it); });
}

const Neighbours::At* Neighbours::reached(const Host& host) {
  const auto at = std::ranges::find_if(host.at, &At::is_usable);
  return at == host.at.end() ? nullptr : &*at;
}

std::optional<HostId> Neighbours::other_than(const HostId& node) const {
  const auto at = std::ranges::find_if(hosts_, [&](const Host& one) { return one.node != node; });
  return at == hosts_.end() ? std::nullopt : std::optional(at->node);
}

bool Neighbours::reaches(const HostId& node) const {
  const auto host = std::ranges::find(hosts_, node, &Host::node);
  return host != hosts_.end() && reached(*host) != nullptr;
}

bool Neighbours::hand(base::Bytes frame, const lan::MacAddress& destination, const HostId& except) {
  bool is_wanted = false;
  for (const Absent& absent : absent_) {
    if (absent.node == except || !absent.at->settings.wants(destination)) continue;
    is_wanted = true;
    hand_to(absent, frame);
  }
  return is_wanted;
}

void Neighbours::hand_to_sniffers(base::Bytes frame, const HostId& except) {
  for (const Absent& absent : absent_) {
    if (absent.node != except && absent.at->settings.filter.promiscuous) hand_to(absent, frame);
  }
}

void Neighbours::hand_to(const Absent& absent, base::Bytes frame) {
  const bool is_taken = siblings_->hand(absent.at->queue, nic_, absent.node, frame);
  counters_.add(is_taken ? NeighbourCounter::kHanded : NeighbourCounter::kDropFull);
}

}  // namespace splitnic::iou
