// The process of the I/O unit: what main() runs. docs/ARCHITECTURE.md
#pragma once

#include "control/daemon/config_reload.h"
#include "iou_module/policy/iou_options.h"

namespace splitnic::iou {

// Runs until a stop is requested and returns the exit status. An error is one line on stderr.
// `source` has the options as they were given, and reads them again for a reload.
int run(const IouOptions& options, control::OptionsSource<IouOptions> source);

}  // namespace splitnic::iou
