// The process of the I/O unit: what main() runs. docs/ARCHITECTURE.md
#pragma once

#include "iou_module/options.h"

namespace splitnic::iou {

// Runs until a stop is requested and returns the exit status. An error is one line on stderr.
int run(const IouOptions& options);

}  // namespace splitnic::iou
