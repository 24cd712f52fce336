// The LIDs of a node with several queues, as a LID mask gives a port several: queue 0 has the LID L
// of the node, and queue Q the LID L + Q * kNodeLids. So a LID shows whose it is, and in a subnet
// that has such nodes the LIDs of nodes and switches are below kNodeLids. Each queue is attached to
// a port of its switch. Pure. docs/adr/0008-a-path-is-not-a-link.md
#pragma once

#include <cstdint>
#include <string>

#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

inline constexpr std::uint32_t kNodeQueuesMax = 8;
inline constexpr std::uint16_t kNodeLids = (kPortLidMax + 1) / kNodeQueuesMax;

// REQUIRES node.value < kNodeLids and queue < kNodeQueuesMax.
constexpr Lid lid_of_queue(Lid node, std::uint32_t queue) {
  return Lid(static_cast<std::uint16_t>(node.value + queue * kNodeLids));
}
// A peer of another subnet (network_layer.h) is a node for itself.
constexpr Lid node_of(Lid lid) {
  if (lid.value > kPortLidMax) return lid;
  return Lid(static_cast<std::uint16_t>(lid.value % kNodeLids));
}
constexpr std::uint32_t queue_of(Lid lid) { return lid.value / kNodeLids; }

// The name that the subnet resolves to this queue: no node can have it.
inline std::string name_of_queue(const std::string& node, std::uint32_t queue) {
  return queue == 0 ? node : node + "#" + std::to_string(queue);
}

}  // namespace splitnic::fabric
