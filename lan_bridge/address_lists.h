// The addresses that an interface is to receive besides its own and broadcasts, as its kernel lists
// them (`bridge fdb show dev NAME self`, `ip maddr show dev NAME`). Plain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lan_bridge/frame/ethernet.h"

namespace splitnic::lan {

struct AddressLists {
  static constexpr std::size_t kEntriesMax = 4096;  // of both; no more are read

  std::vector<MacAddress> unicast{}, multicast{};  // sorted, each address once
  // The number of users that have the interface promiscuous: the user, a bridge, a capture, and the
  // kernel as long as it lists unicast addresses, on an interface without a filter; the kernel
  // reports no change of that either. None: not known.
  std::optional<std::uint32_t> promiscuity{};
  friend bool operator==(const AddressLists&, const AddressLists&) = default;
};

}  // namespace splitnic::lan
