// Other subnets in a topology file: prefix, [routes] and [remotes].
// docs/topology_file.md#several-subnets
#pragma once

#include "base/status.h"
#include "control/config/toml.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric_switch {

inline constexpr std::size_t kRoutesMax = 1024;
inline constexpr std::size_t kRemotesMax = 4096;

// The fields of the file; null: it has none.
struct NetworkFields {
  const control::TomlValue* prefix = nullptr;
  const control::TomlValue* routes = nullptr;
  const control::TomlValue* remotes = nullptr;
};

// Gives `topology`, which has its switches and nodes, its network. An error names line and column.
base::Status read_network(const NetworkFields& fields, fabric::Topology& topology);

}  // namespace splitnic::fabric_switch
