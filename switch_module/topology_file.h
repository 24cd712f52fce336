// The file of --topology: a subnet in TOML. Errors name line and column. docs/topology_file.md
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "fabric_emul/session/crypto.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric_switch {

inline constexpr std::size_t kTopologyBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kSwitchesMax = 1024;
// With a table per input, of which a manager keeps all.
inline constexpr std::size_t kSwitchesPerInputMax = 64;
inline constexpr std::size_t kNodesMax = 4096;

struct TopologyFile {
  fabric::Topology topology;
  // The keys of switches and nodes, by their names. Those without a key are not in it.
  std::map<std::string, fabric::session::PublicKey> keys;
  friend bool operator==(const TopologyFile&, const TopologyFile&) = default;
};

base::Result<TopologyFile> parse_topology(std::string_view text);
// Opens without waiting. An error names the file; it is also one that the file has keys, which
// decide over who attaches, and others than its owner may write to it.
base::Result<TopologyFile> read_topology(const std::string& path);

}  // namespace splitnic::fabric_switch
