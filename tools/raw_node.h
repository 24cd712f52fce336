// The process of `splitnic raw`: an end node with Raw queue pairs and an interface.
#pragma once

#include "tools/raw_command.h"

namespace splitnic::tools {

// Runs until a stop is requested. Returns the exit status.
int run_raw_node(const RawOptions& options);

}  // namespace splitnic::tools
