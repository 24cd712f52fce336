// The effective user of this process. Sandboxed programs ask the kernel before and not later.
// Thread: any, behind keep_own_user().
#pragma once

#include <cstdint>

namespace splitnic::base {

std::uint32_t own_user();

// From now on own_user() makes no system call. REQUIRES that the process keeps its user.
void keep_own_user();

}  // namespace splitnic::base
