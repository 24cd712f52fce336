// The frames that an interface is to receive besides those for its own address and broadcasts, as a
// port requests them of the kernel, which adds up what all programs request. Plain.
#pragma once

#include <vector>

#include "lan_bridge/frame/ethernet.h"

namespace splitnic::lan {

struct ReceiveFilter {
  std::vector<MacAddress> unicast{}, multicast{};  // sorted, each address once
  bool promiscuous = false;
  bool all_multicast = false;
  friend bool operator==(const ReceiveFilter&, const ReceiveFilter&) = default;
};

}  // namespace splitnic::lan
