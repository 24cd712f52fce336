// The seam between what is up in a subnet and the forwarding tables that follow from it. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric {

// A router whose cells another one takes.
struct StandIn {
  Lid of;
  Lid by;  // another switch of the topology
};

// Returns the tables of each switch, by its name. They are consistent: whatever the switch and the
// input, the entries of a LID lead to the switch of the LID. REQUIRES a topology as
// plan_of() does. With stand-ins the LID of a router has the entries of the one that stands in for
// it, and none there.
std::map<std::string, ForwardingTables> routes_of(const Topology& topology,
                                                  const std::vector<StandIn>& stand_ins = {});

}  // namespace splitnic::fabric
