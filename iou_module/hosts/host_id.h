// The identity of a host: its key, user or LID, or else the EUI-64 that it states. So the EUI-64 of
// another host is of no use to anybody [M-8]. On a keyed link the key proves it: the EUI-64 follows
// from the key, and INIT with another one is dropped. Over shm the kernel reports the user, who may
// run several hosts, each with the EUI-64 that it states. Behind a keyed switch that vouches for
// the LID of each port it is the node at that port, whatever it states. On a link without keys
// there is only what the host states.
#pragma once

#include <compare>
#include <cstdint>

#include "fabric_emul/verbs/adapter.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::iou {

struct HostId {
  enum class Proof : std::uint32_t { kNone, kKey, kUser, kNode };

  fabric::Eui64 eui64{};
  Proof proof = Proof::kNone;
  std::uint32_t number = 0;  // with kUser: of the user; with kNode: the LID of the node

  // The one that is responsible for what the host does: its key, its user, its node, or else
  // itself. A host that states another EUI-64 leaves neither its quarantine nor its budgets.
  HostId principal() const {
    return proof == Proof::kUser || proof == Proof::kNode ? HostId{{}, proof, number} : *this;
  }

  friend auto operator<=>(const HostId&, const HostId&) = default;
};

// From the link alone; RightsSource::id_of() knows of switches.
inline HostId host_id_of(const fabric::Link& link) {
  if (link.is_keyed()) return {link.peer_eui64(), HostId::Proof::kKey, 0};
  if (const auto user = link.peer_user()) {
    return {link.peer_eui64(), HostId::Proof::kUser, *user};
  }
  return {link.peer_eui64(), HostId::Proof::kNone, 0};
}

}  // namespace splitnic::iou
