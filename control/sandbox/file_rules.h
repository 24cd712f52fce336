// The files that the process reaches from now on, by Landlock (landlock(7), Linux 5.13). What is
// open stays open. Thread: the only one of the process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace splitnic::control::sandbox {

enum class FileRight : std::uint8_t {
  kRemove,       // files can be removed
  kRead,         // ... read
  kReadAndList,  // ... read, and folders listed
  kReplace,      // ... read, written, made, renamed and removed
};

// All files below a folder; with kRead also one file. What is missing, or cannot be reached, gives
// no right.
struct FileRule {
  std::string path;
  FileRight right;
};

// Opening, making and removing files fails from now on, but for the rules and for what was left by
// earlier calls. REQUIRES no-new-privileges. A kernel without Landlock restricts nothing, which is
// one line of the log, at debug.
base::Status restrict_files(std::span<const FileRule> rules);

// Returns rules for reading what there is now below `folders`, without the folder of each of
// `secrets` and all that is in it; of a secret right in one of `folders` that file alone is left
// out. A symbolic link gives no right to what it points to.
std::vector<FileRule> rules_to_read_all_but(std::span<const std::string> folders,
                                            std::span<const std::string> secrets);

}  // namespace splitnic::control::sandbox
