// The process of splitnic-switch. Thread: the main thread.
#pragma once

#include "control/daemon/config_reload.h"
#include "switch_module/switch_options.h"

namespace splitnic::fabric_switch {

// Runs until a stop is requested and returns the exit status. `options` outlives the call.
// `source` has the options as they were given, and reads them again for a reload.
int run(const SwitchOptions& options, control::OptionsSource<SwitchOptions> source);

}  // namespace splitnic::fabric_switch
