// Files that hold what users sent: captures. They are readable and writable by the owner only,
// whatever was at the path before, and never written through a link that somebody else put there.
// Files that decide over rights, or are secret, belong to root or to the user of this program.
// [L-2] [M-9] docs/security.md
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace splitnic::base {

// Creates the file, or empties the one that is there, and opens it for writing. An error: the path
// is a symbolic link, or a file of another user. A pipe or device is opened as it is.
Result<UniqueFd> create_private_file(const std::string& path);

// Returns whether a file of this user can be relied on: of root, or of the user of this program.
bool is_trusted_owner(std::uint32_t user);

}  // namespace splitnic::base
