// Gives up what a program does not need once it is up. Everything is open by then, so few rights
// are left, and whoever takes over the process through a bug gets no more than these.
// docs/security.md#sandbox
//
// Two steps, because some rights belong to a thread and a new thread copies them: first, with the
// main thread alone, capabilities, no-new-privileges and files; then, when the other threads exist
// and before any of them does its work, the system calls of all threads.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "control/sandbox/file_rules.h"

namespace splitnic::control::sandbox {

// False in builds with sanitizers or coverage.
#if defined(SPLITNIC_HAS_NO_SANDBOX)
inline constexpr bool kIsBuilt = false;
#else
inline constexpr bool kIsBuilt = true;
#endif

// The rights that a program needs while it runs.
struct Needs {
  bool changes_interfaces = false;  // keeps CAP_NET_ADMIN
  bool opens_interfaces = false;    // keeps CAP_NET_RAW
  bool accepts_shm = false;         // others connect to it over shared memory
  std::vector<FileRule> files = {};

  // The file, or one that replaces it, can be read.
  void read_again(const std::string& path);
};

// The first step. REQUIRES that the process has one thread. An error: the kernel refused, but for
// Landlock, which not every kernel has: that is one line of the log, at debug.
base::Status give_up_privileges(const Needs& needs);

// The second step, for all threads. From now on the process makes no thread and starts no program.
base::Status filter_calls(const Needs& needs);

}  // namespace splitnic::control::sandbox
