// Tables whose routes go up first and down then, and never up after down, for any order of the
// switches: so no circle of cells that wait for each other can close (Schroeder et al., Autonet,
// 1991). The only table of a switch knows the destination and not whether a cell went down already.
// Therefore a switch that has a way down takes it, although one that begins upwards may be shorter.
// That of an input knows: what comes from above continues down, all else takes the shortest way
// that is left.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric_emul/routing/forwarding_table.h"
#include "fabric_emul/routing/subnet_graph.h"

namespace splitnic::fabric {

// By the index of the switch.
struct UpDownOrder {
  // A cable leads up to its higher end. A cable between equals is not used.
  std::vector<std::uint32_t> heights;
  // Of ways of equal length, the one of a destination is its number plus that of the path, divided
  // by this, modulo the number of ways; with a table per input each input takes the next one. 1 at
  // least.
  std::vector<std::uint32_t> divisors;
};

// Destinations are numbered by the LID of their switch, then by port. All LIDs of a port have one
// number.
std::vector<ForwardingTables> up_down_tables(const SubnetGraph& graph, const UpDownOrder& order,
                                             TablesPer per);

}  // namespace splitnic::fabric
