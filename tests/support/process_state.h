// The descriptors, threads and memory that this process holds, and the comparison of two moments.
#pragma once

#include <gtest/gtest.h>
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

// `slack_bytes` of the heap: what tables and allocators round up to.
inline void expect_same(const ProcessState& after, const ProcessState& before,
                        std::ptrdiff_t slack_bytes) {
  constexpr std::ptrdiff_t kMappedSlackBytes = 4 << 20;
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_LE(after.heap_bytes - before.heap_bytes, slack_bytes);
  EXPECT_LE(after.mapped_bytes - before.mapped_bytes, kMappedSlackBytes);
}

}  // namespace splitnic::support
