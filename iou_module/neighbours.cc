#include "iou_module/neighbours.h"

#include <algorithm>

namespace splitnic::iou {

// Pointers into hosts_ end with it, so nobody is absent until the next observe().
void Neighbours::learn(std::size_t queue, const HostNews& news) {
  absent_.clear();
  auto host = std::ranges::find(hosts_, news.node, &Host::node);
  if (host == hosts_.end()) {
    if (news.is_gone) return;
    host = hosts_.insert(hosts_.end(), {news.node, {}});
  }
  std::erase_if(host->at, [&](const At& at) { return at.queue == queue; });
  if (!news.is_gone) {
    const auto after =
        std::ranges::find_if(host->at, [&](const At& at) { return at.queue > queue; });
    host->at.insert(after, {queue, news.is_usable, news.settings});
  }
  if (host->at.empty()) hosts_.erase(host);
}

bool Neighbours::owns(const lan::MacAddress& mac, fabric::Eui64 by) const {
  return std::ranges::any_of(hosts_, [&](const Host& host) {
    return host.node != by &&
           std::ranges::any_of(host.at, [&](const At& at) { return at.settings.owns(mac); });
  });
}

const Neighbours::At* Neighbours::reached(const Host& host) {
  const auto at = std::ranges::find_if(host.at, &At::is_usable);
  return at == host.at.end() ? nullptr : &*at;
}

bool Neighbours::reaches(fabric::Eui64 node) const {
  const auto host = std::ranges::find(hosts_, node, &Host::node);
  return host != hosts_.end() && reached(*host) != nullptr;
}

bool Neighbours::hand(base::Bytes frame, const lan::MacAddress& destination, fabric::Eui64 except) {
  bool is_wanted = false;
  for (const Absent& absent : absent_) {
    if (absent.node == except || !absent.at->settings.wants(destination)) continue;
    is_wanted = true;
    const bool is_taken = siblings_->hand(absent.at->queue, nic_, absent.node, frame);
    counters_.add(is_taken ? NeighbourCounter::kHanded : NeighbourCounter::kDropFull);
  }
  return is_wanted;
}

}  // namespace splitnic::iou
