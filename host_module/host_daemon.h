// The process of the host module: what main() runs. docs/ARCHITECTURE.md
#pragma once

#include "control/daemon/config_reload.h"
#include "host_module/host_options.h"

namespace splitnic::host {

// Runs until a stop is requested and returns the exit status. An error is one line on stderr.
// `source` has the options as they were given, and reads them again for a reload.
int run(const HostOptions& options, control::OptionsSource<HostOptions> source);

}  // namespace splitnic::host
