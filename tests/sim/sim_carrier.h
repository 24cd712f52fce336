// The identities of the two nodes of the simulator. Without keys they are these two EUI-64; with
// keys each EUI-64 follows from its node's key. docs/protocol/session.md#keys
#pragma once

#include "fabric_emul/wire/ids.h"
#include "tests/sim/sim_world.h"

namespace splitnic::sim {

inline constexpr fabric::Eui64 kIouEui64(0x10);
inline constexpr fabric::Eui64 kHostEui64(0x20);

fabric::Eui64 eui64_of(const WorldConfig& config, bool is_of_host);

}  // namespace splitnic::sim
