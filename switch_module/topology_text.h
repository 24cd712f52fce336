// A topology as the text of a topology file, without keys: parse_topology() reads it back.
#pragma once

#include <string>

#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric_switch {

std::string topology_text(const fabric::Topology& topology);

}  // namespace splitnic::fabric_switch
