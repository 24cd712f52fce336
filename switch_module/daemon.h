// The process of splitnic-switch. Thread: the main thread.
#pragma once

#include "switch_module/options.h"

namespace splitnic::fabric_switch {

// Runs until a stop is requested and returns the exit status. `options` outlives the call.
int run(const SwitchOptions& options);

}  // namespace splitnic::fabric_switch
