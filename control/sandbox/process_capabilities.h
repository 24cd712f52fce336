// The capabilities of this process, capabilities(7). Thread: the only one of the process, since
// each thread has a set and a new one starts with that of its creator.
#pragma once

#include <span>

#include "base/status.h"

namespace splitnic::control::sandbox {

// Gives up for good all capabilities but those of `kept` (CAP_* numbers) that the process has. The
// bounding set becomes empty, where the process may change it: no program that it could start
// would get one back.
base::Status keep_capabilities(std::span<const unsigned> kept);

}  // namespace splitnic::control::sandbox
