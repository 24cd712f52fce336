// The identities of the nodes of the simulator. Without keys they are fixed EUI-64; with keys each
// EUI-64 follows from its node's key. docs/protocol/session.md#keys
#pragma once

#include "fabric_emul/session/session_config.h"
#include "fabric_emul/wire/ids.h"
#include "tests/sim/sim_world.h"

namespace splitnic::sim {

enum class Node : std::uint8_t { kUnit, kHost, kHostile };

// A hostile host has a key, so that all have one.
inline bool is_keyed(const WorldConfig& config) {
  return config.is_keyed || config.hostility != Hostility::kNone;
}
fabric::Eui64 eui64_of(const WorldConfig& config, Node node);
fabric::session::PublicKey public_key_of(Node node);
// Of a process that starts now. `stamp` is greater than all before.
fabric::session::SessionConfig session_of(Node node, base::Random& random,
                                          std::function<std::uint64_t()> stamp);

}  // namespace splitnic::sim
