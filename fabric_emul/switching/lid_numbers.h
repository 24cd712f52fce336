// The LIDs that a subnet manager gives the nodes of a topology whose file leaves them to it. They
// follow from the names, so each manager of the subnet finds the same. Pure. docs/topology_file.md
#pragma once

#include <optional>
#include <string_view>

#include "base/status.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric {

// "file" or "manager".
std::string_view name(LidsFrom from);
std::optional<LidsFrom> parse_lids_from(std::string_view text);

// Gives the nodes their LIDs, whatever they had: in ascending order of names the lowest that no
// switch and no other node has. An error: there are more than LIDs. REQUIRES LIDs of the switches.
base::Status number_nodes(Topology& topology);

}  // namespace splitnic::fabric
