// The LIDs that a subnet manager gives the nodes of a topology whose file leaves them to it. They
// follow from the names, so each manager of the subnet finds the same. Pure. docs/topology_file.md
#pragma once

#include "base/status.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric {

// Gives the nodes their LIDs, whatever they had: in ascending order of names the lowest that no
// switch and no other node has. An error: there are more than LIDs. REQUIRES LIDs of the switches.
base::Status number_nodes(Topology& topology);

}  // namespace splitnic::fabric
