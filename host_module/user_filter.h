// The addresses that the user of the host has the NIC at the I/O unit receive (`splitnic filter`),
// besides the interface's own, and whether all groups pass. Plain state.
// docs/nic_service.md#addresses Thread: its owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lan_bridge/frame/ethernet.h"
#include "messaging/cfgutil/nic_state.h"

namespace splitnic::host {

struct UserFilter {
  // Of each list. The I/O unit has as much room.
  static constexpr std::size_t kEntriesMax = messaging::NicState::kFilterEntriesMax;

  std::vector<lan::MacAddress> unicast{}, multicast{};  // sorted, each once
  bool all_multicast = true;

  // Returns false if the list of such addresses is full.
  bool add(const lan::MacAddress& mac) {
    std::vector<lan::MacAddress>& list = list_of(mac);
    const auto at = std::ranges::lower_bound(list, mac);
    if (at != list.end() && *at == mac) return true;
    if (list.size() == kEntriesMax) return false;
    list.insert(at, mac);
    return true;
  }
  void remove(const lan::MacAddress& mac) { std::erase(list_of(mac), mac); }
  bool is_default() const { return *this == UserFilter{}; }
  friend bool operator==(const UserFilter&, const UserFilter&) = default;

 private:
  std::vector<lan::MacAddress>& list_of(const lan::MacAddress& mac) {
    return lan::is_multicast(mac) ? multicast : unicast;
  }
};

// The whole of SET_FILTER.
struct FilterSetting {
  UserFilter lists{};  // of the user, and what the kernel lists for the interface
  bool promiscuous = false;
  friend bool operator==(const FilterSetting&, const FilterSetting&) = default;
};

}  // namespace splitnic::host
