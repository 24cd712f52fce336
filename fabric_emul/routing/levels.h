// Distances in a subnet, and the levels of its switches that follow from them. Both routings that
// go up and then down build on these. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric_emul/routing/subnet_graph.h"

namespace splitnic::fabric {

inline constexpr std::uint32_t kNotReached = 0xFFFFFFFF;

// The number of cables from the nearest of `from` to each switch; kNotReached: there is no way.
std::vector<std::uint32_t> distances_from(const SubnetGraph& graph,
                                          std::vector<std::uint32_t> from);

// The distance of each switch from the nearest that has nodes.
std::vector<std::uint32_t> levels_of(const SubnetGraph& graph);

// Of each switch, the product of the numbers of ways up on the levels below its own, 1 at least: by
// it the number of a destination is divided, so that each level selects by another digit.
std::vector<std::uint32_t> divisors_of(const SubnetGraph& graph,
                                       const std::vector<std::uint32_t>& levels);

}  // namespace splitnic::fabric
