// Counters of a router. A cell that came for it with a GNH is in the first, or dropped for one of
// these reasons; what the output drops is counted as that of a switch.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"

namespace splitnic::fabric {

enum class RouterCounter {
  kCell,             // passed to an output
  kDropHeader,       // the GNH is not whole, or not as it must be
  kDropSource,       // not the network address of the node that sent it, or of another subnet
  kDropDestination,  // a router, or a node of the subnet that it is from
  kDropHopLimit,     // 1 or 0
  kDropRoute,        // no subnet or route has this destination
  kDropNeighbour,    // no node of the subnet has it
  kCount_
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::RouterCounter> {
  static constexpr std::array<std::string_view,
                              static_cast<std::size_t>(splitnic::fabric::RouterCounter::kCount_)>
      kNames{"router.cell",           "router.drop.header",
             "router.drop.source",    "router.drop.destination",
             "router.drop.hop_limit", "router.drop.route",
             "router.drop.neighbour"};
};
