// The system calls that a program makes once it is up. The set-up is over: no thread, program or
// memory to execute is made, and no socket but those of UDP, netlink and Unix.
#pragma once

#include <cstddef>
#include <vector>

#include "control/sandbox/call_filter.h"

namespace splitnic::control::sandbox {

inline constexpr std::size_t kAllowedCallsMax = 45;

// `opens_files`: the program opens files while it runs. `accepts_shm`: others connect to it over
// shared memory.
std::vector<AllowedCall> allowed_calls(bool opens_files, bool accepts_shm);

}  // namespace splitnic::control::sandbox
