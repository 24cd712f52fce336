// The descriptors, threads and memory that this process holds, so that a test can compare two
// moments.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace splitnic::support {

// Sanitizers keep freed memory: with them the bytes are 0.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsMemory = false;
#else
inline constexpr bool kCountsMemory = true;
#endif

struct ProcessState {
  std::ptrdiff_t descriptors = 0;
  std::ptrdiff_t threads = 0;
  std::ptrdiff_t heap_bytes = 0;    // in use, not what the allocator keeps
  std::ptrdiff_t mapped_bytes = 0;  // all mappings of the process
};

inline ProcessState process_state() {
  const auto entries_of = [](const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder),
                         std::filesystem::directory_iterator());
  };
  ProcessState now{.descriptors = entries_of("/proc/self/fd"),
                   .threads = entries_of("/proc/self/task")};
  if (!kCountsMemory) return now;
  const struct mallinfo2 heap = ::mallinfo2();
  now.heap_bytes = static_cast<std::ptrdiff_t>(heap.uordblks + heap.hblkhd);
  std::ptrdiff_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  now.mapped_bytes = pages * ::sysconf(_SC_PAGESIZE);
  return now;
}

}  // namespace splitnic::support
