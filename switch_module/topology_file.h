// The file of --topology: a subnet in TOML. Errors name line and column. docs/topology_file.md
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric_switch {

inline constexpr std::size_t kTopologyBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kSwitchesMax = 256;
inline constexpr std::size_t kNodesMax = 4096;

base::Result<fabric::Topology> parse_topology(std::string_view text);
// Opens without waiting. An error names the file.
base::Result<fabric::Topology> read_topology(const std::string& path);

}  // namespace splitnic::fabric_switch
