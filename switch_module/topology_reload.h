// The topology files of a switch, and what they have when they are read again (SIGHUP, `splitnic
// reload`): lanes and partitions can change while switches run, and the rest waits for the next
// start. Thread: the main thread, then the control thread. docs/topology_file.md#reload
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "fabric_emul/switching/topology.h"
#include "switch_module/topology_file.h"

namespace splitnic::fabric_switch {

class TopologyReload {
 public:
  // Files are named by their place in `paths`, which outlives this.
  explicit TopologyReload(const std::vector<std::string>& paths) : paths_(paths) {}
  // The program has begun with these.
  void start(std::vector<TopologyFile> files) { in_force_ = std::move(files); }

  struct Policy {
    std::size_t file;
    fabric::Topology topology;
  };
  struct Changes {
    std::vector<Policy> policies;       // files that have other lanes or partitions, and no more
    std::vector<std::size_t> at_start;  // files that have something else
  };
  // Reads all files. An error: one of them is not a topology. REQUIRES start().
  base::Result<Changes> read() const;
  // The lanes and partitions of these are in force.
  void take(const Changes& changes);

 private:
  const std::vector<std::string>& paths_;
  std::vector<TopologyFile> in_force_;
};

}  // namespace splitnic::fabric_switch
