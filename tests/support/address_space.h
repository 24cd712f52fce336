// A limit of the address space of this process, so that the system has no more memory for it. For
// child processes of tests; the sanitizers need terabytes of it and cannot work so.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

namespace splitnic::support {

// In bytes, as the kernel counts it.
inline std::size_t address_space() {
  unsigned long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file != nullptr) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// At most this much beyond what is in use. Returns false if the kernel refuses that.
inline bool limit_address_space(std::size_t more) {
  const rlimit limit{address_space() + more, RLIM_INFINITY};
  return ::setrlimit(RLIMIT_AS, &limit) == 0;
}
inline bool lift_address_space() {
  const rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  return ::setrlimit(RLIMIT_AS, &limit) == 0;
}

}  // namespace splitnic::support
