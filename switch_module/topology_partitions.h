// The tables [partitions.NAME] of a topology file. docs/topology_file.md#partitions
#pragma once

#include "base/status.h"
#include "control/config/toml.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric_switch {

inline constexpr std::size_t kPartitionsMax = 1024;

// Gives the nodes of `topology` their keys; a node that no table lists is in the default partition.
// An error names line and column.
base::Status read_partitions(const control::TomlValue& tables, fabric::Topology& topology);

}  // namespace splitnic::fabric_switch
