// The terms of this end about the LIDs of a link. Where a topology gives them, both ends have those
// of the topology: the listener assigns them, and the client takes no others. Without one the
// listener counts the LIDs of its peers, and the client takes what READY states. Pure. Thread: the
// data thread. docs/protocol/init.md#init
#pragma once

#include <cstddef>
#include <optional>

#include "fabric_emul/link/port_config.h"
#include "fabric_emul/underlay/underlay.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/init.h"

namespace splitnic::fabric {

class LidTerms {
 public:
  // config outlives this object.
  explicit LidTerms(const PortConfig& config) : config_(config) {}

  // Returns those that the topology gives for the link to this peer; nothing without a topology, or
  // if the peer has none.
  std::optional<LinkLids> of_topology(const PeerAddress& peer) const;
  // Listener: returns those of the link in this slot; nothing if the peer can have none.
  std::optional<LinkLids> assign(const PeerAddress& peer, std::size_t slot) const;
  // Client: returns those of the link after this READY of the peer; nothing if it states others
  // than the client takes.
  std::optional<LinkLids> accept(const Init& ready, const PeerAddress& peer) const;
  // Whether `now` are others than `had`, which queue pairs have at both ends; false for a link that
  // had none.
  static bool are_others(const LinkLids& had, const LinkLids& now);
  // Whether the topology gives others now. Switches that start again with another topology file may
  // give either end another LID. The link need not get silent then: its control cells find the peer
  // by the new ones.
  bool have_changed(const LinkLids& had, const PeerAddress& peer) const;
  // Whether the peer with this LID is in another subnet, where it has other LIDs than it has for
  // us.
  bool is_in_other_subnet(Lid remote) const { return config_.lids && remote.value > kPortLidMax; }

 private:
  const PortConfig& config_;
};

}  // namespace splitnic::fabric
