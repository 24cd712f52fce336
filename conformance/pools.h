// The pools that an end offers to the target. docs/protocol/pools.md
#pragma once

#include <span>

#include "conformance/end.h"

namespace splitnic::conformance {

// The one that advertise() offers where a case names no other: that of EndConfig.
messaging::PoolRecord own_pool(const End& end);
// Offers it, and awaits the pools of the target; without them the case ends, and it is false.
bool advertise(End& end);
// The same with these in its place.
bool advertise(End& end, std::span<const messaging::PoolRecord> pools);

}  // namespace splitnic::conformance
