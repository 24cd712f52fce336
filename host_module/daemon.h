// The process of the host module: what main() runs. docs/ARCHITECTURE.md
#pragma once

#include "host_module/options.h"

namespace splitnic::host {

// Runs until a stop is requested and returns the exit status. An error is one line on stderr.
int run(const HostOptions& options);

}  // namespace splitnic::host
