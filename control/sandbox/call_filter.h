// A seccomp filter (seccomp(2)) from a table of the system calls that a program may make: a classic
// BPF program over the number and the arguments of a call. Every other call raises SIGSYS in its
// thread (refused_calls.h); calls of another architecture end the process.
#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace splitnic::control::sandbox {

// The low 32 bits of an argument, as far as `mask` has them, must be one of `values`.
struct ArgumentCheck {
  unsigned argument;  // 0 to 5
  std::uint32_t mask;
  std::vector<std::uint32_t> values;  // 1 to 100
};

struct AllowedCall {
  long number;                             // SYS_*
  std::vector<ArgumentCheck> checks = {};  // all of them must pass
};

// REQUIRES that no number is there twice.
std::vector<sock_filter> call_filter(std::span<const AllowedCall> allowed);

// From now on the filter decides over the calls of every thread of the process and of those to
// come. REQUIRES no-new-privileges. An error: the kernel has no such filters, or a thread has
// another one.
base::Status install_call_filter(std::span<const sock_filter> filter);

}  // namespace splitnic::control::sandbox
