// The files that the process reaches from now on, by Landlock (landlock(7), Linux 5.13). What is
// open stays open. Thread: the only one of the process.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace splitnic::control::sandbox {

enum class FileRight : std::uint8_t {
  kRemove,   // files can be removed
  kRead,     // ... read
  kReplace,  // ... read, written, made, renamed and removed
};

// All files below a folder. A folder that is missing, or cannot be reached, gives no right.
struct FolderRule {
  std::string folder;
  FileRight right;
};

// Opening, making and removing files fails from now on, but for the rules. REQUIRES
// no-new-privileges. An error with ENOSYS or EOPNOTSUPP: the kernel has no Landlock, or it is
// switched off.
base::Status restrict_files(std::span<const FolderRule> rules);

}  // namespace splitnic::control::sandbox
