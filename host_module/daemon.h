// The process of the host module: what main() wires, and its loop. docs/ARCHITECTURE.md, section
// "processes".
#pragma once

#include "host_module/options.h"

namespace splitnic::host {

// Runs until a stop is asked for; the exit status. Errors are one line on stderr.
int run(const HostOptions& options);

}  // namespace splitnic::host
