// The time of the calling thread on a processor, so that what else runs here counts little.
#pragma once

#include <ctime>

#include "base/check.h"

namespace splitnic::support {

inline double cpu_nanoseconds() {
  timespec at{};
  CHECK(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at) == 0);
  return static_cast<double>(at.tv_sec) * 1e9 + static_cast<double>(at.tv_nsec);
}

}  // namespace splitnic::support
