// One process of one node. The processes of a node are one host for its rights, its addresses and
// its quarantine, and different ones for its settings: a restarted process finds none of them.
// Pure.
#pragma once

#include <cstdint>

#include "iou_module/hosts/host_id.h"

namespace splitnic::iou {

// A restarted process has another instance.
struct HostProcess {
  HostId node;
  std::uint64_t instance = 0;
  friend bool operator==(const HostProcess&, const HostProcess&) = default;
};

}  // namespace splitnic::iou
