// The ends that the conformance suite plays, on real carriers: the hosts of its role host, the I/O
// unit that waits for a host, or the nodes around a switch. Thread: the main thread.
#pragma once

#include <memory>

#include "base/status.h"
#include "conformance/runner.h"
#include "tools/conform_command.h"

namespace splitnic::tools {

class ConformEnds {
 public:
  virtual ~ConformEnds() = default;
  // Valid as long as this.
  virtual conformance::Runner& runner() = 0;
  // The target is free again.
  virtual void end() {}
};

// The topology that the switch must have, with the keys of the options. An error is a key file that
// cannot be used.
base::Result<std::string> topology_of(const ConformOptions& options);

// An error is a key file that cannot be used, or a carrier that cannot be opened.
base::Result<std::unique_ptr<ConformEnds>> open_ends(const ConformOptions& options);

}  // namespace splitnic::tools
