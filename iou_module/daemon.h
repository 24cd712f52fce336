// The process of the I/O unit module: what main() wires, and its loop.
#pragma once

#include "iou_module/options.h"

namespace splitnic::iou {

// Runs until a stop is asked for; the exit status. Errors are one line on stderr.
int run(const IouOptions& options);

}  // namespace splitnic::iou
