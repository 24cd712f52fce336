// The seam between what is up in a subnet and the forwarding tables that follow from it. Pure.
#pragma once

#include <map>
#include <string>

#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric {

// Returns the table of each switch, by its name. They are consistent: for each LID, the switches
// that have an entry form a tree whose root is the switch of the LID. REQUIRES a topology as
// plan_of() does.
std::map<std::string, ForwardingTable> routes_of(const Topology& topology);

}  // namespace splitnic::fabric
