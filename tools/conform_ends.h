// The ends that the conformance suite plays, on real carriers: the hosts of its role host, or the
// I/O unit that waits for a host. Thread: the main thread.
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

// An error is a key file that cannot be used, or a carrier that cannot be opened.
base::Result<std::unique_ptr<ConformEnds>> open_ends(const ConformOptions& options);

}  // namespace splitnic::tools
