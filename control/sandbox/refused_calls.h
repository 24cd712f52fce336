// System calls that the filter does not allow (call_filter.h). Such a call fails with EPERM and is
// counted, and the first of each number is a line on stderr. The program continues: a call that we
// forgot, in a rare path or in a newer library, must not end the network of all hosts, and who runs
// code in the process gets nothing from a call that fails. Thread: any.
#pragma once

#include <cstdint>

namespace splitnic::control::sandbox {

// Handles SIGSYS from now on. REQUIRES that it is called before the filter is installed. An error
// is our own bug.
void handle_refused_calls();

// Returns the number of refused calls of the process so far.
std::uint64_t refused_calls();

}  // namespace splitnic::control::sandbox
