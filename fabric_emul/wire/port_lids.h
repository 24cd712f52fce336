// The LIDs of the port of a node: 2^LMC, from its base LID on, which is a multiple of that. Each
// is a path of its number: routes to them take different ways where there are several of one
// length. Pure. [S004-18] [S000-35] docs/protocol/path.md#lids-of-a-port
#pragma once

#include <cstdint>
#include <string>

#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

struct PortLids {
  Lid base;
  std::uint8_t lmc = 0;

  constexpr unsigned count() const { return 1U << lmc; }
  constexpr bool has(Lid lid) const { return lid.value >> lmc == base.value >> lmc; }
  // Of any path: a port with fewer LIDs uses them in turn.
  constexpr Lid of_path(unsigned path) const { return path_of(base, path % count()); }
  friend constexpr bool operator==(const PortLids&, const PortLids&) = default;
};

// Whether a port may have them.
constexpr bool is_valid(const PortLids& lids) {
  return lids.base != Lid() && lids.base.value <= kPortLidMax && lids.lmc <= kLmcMax &&
         lids.base.value % lids.count() == 0;
}

// The name that the subnet resolves to this path of a node, or of a queue of it: no node can have
// it.
inline constexpr char kPathMark = '+';
inline std::string name_of_path(const std::string& node, unsigned path) {
  return path == 0 ? node : node + kPathMark + std::to_string(path);
}

}  // namespace splitnic::fabric
