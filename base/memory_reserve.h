// A reserve of memory, held from the start, for the moment in which the system gives the process no
// more, because of a limit of its address space or strict accounting. When operator new fails, the
// reserve is freed, so that small allocations anywhere in the program succeed. The program then
// finds the reserve used and makes room: it accepts no peer, and ends one. Memory by the mebibyte
// does not rely on this: its allocation may fail (PageMemory::make()). is_memory_short() reports
// that the reserve is used.
//
// The reserve belongs to the process, as the handler of operator new does. It costs address space
// only. Thread: any. [M-1]
#pragma once

#include <cstddef>

namespace splitnic::base {

// Holds this many bytes from now on. For main threads, before there are others; later calls do
// nothing. REQUIRES bytes > 0.
void hold_memory_reserve(std::size_t bytes);
// Returns true if the reserve was used. False as long as none was ever held.
bool is_memory_short();
// Holds the reserve again if it was used. Returns false if the system has no memory for that.
bool restore_memory_reserve();
// Returns true if the system has this many bytes now.
bool has_memory_for(std::size_t bytes);

}  // namespace splitnic::base
