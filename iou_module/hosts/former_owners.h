// The addresses of hosts that are gone: each stays its own for kKeptFor, so that a host whose
// process or path comes back finds it, whoever has asked for it meanwhile. Of one node, what it had
// last. Bounded: beyond kAddressesMax the address that is kept for longest goes first. Thread: the
// data thread. [H-1] docs/nic_service.md#addresses
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "base/clock.h"
#include "iou_module/hosts/host_id.h"
#include "iou_module/hosts/lan_addresses.h"
#include "lan_bridge/frame/ethernet.h"

namespace splitnic::iou {

class FormerOwners {
 public:
  static constexpr base::Duration kKeptFor = LanAddresses::kUsedFor;
  static constexpr std::size_t kAddressesMax = 8192;

  // The node is gone and had these addresses.
  void keep(const HostId& node, const std::vector<lan::MacAddress>& macs, base::Time now) {
    forget(node);
    std::erase_if(kept_, [&](const auto& entry) { return entry.second.until <= now; });
    for (const lan::MacAddress& mac : macs) {
      if (kept_.size() >= kAddressesMax) kept_.erase(oldest());
      kept_.insert_or_assign(mac, Owner{node, now + kKeptFor});
    }
  }
  // The node is back with what it has now.
  void forget(const HostId& node) {
    std::erase_if(kept_, [&](const auto& entry) { return entry.second.node == node; });
  }
  // Somebody has the address now.
  void forget(const lan::MacAddress& mac) { kept_.erase(mac); }
  // Returns whether the address is kept for a node other than `by`.
  bool is_of_another(const lan::MacAddress& mac, const HostId& by, base::Time now) const {
    const auto found = kept_.find(mac);
    return found != kept_.end() && found->second.node != by && now < found->second.until;
  }

 private:
  struct Owner {
    HostId node;
    base::Time until;
  };
  using Kept = std::map<lan::MacAddress, Owner>;
  Kept::iterator oldest() {
    return std::ranges::min_element(kept_, {},
                                    [](const auto& entry) { return entry.second.until; });
  }
  Kept kept_;
};

}  // namespace splitnic::iou
