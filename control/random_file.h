// A secret of one user: 16 random bytes in a file of a folder that this user alone can read. The
// first program that needs it makes the file, which appears with its content. Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "base/random.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace splitnic::control {

using RandomBytes = std::array<std::byte, 16>;

base::Result<base::UniqueFd> open_folder(const std::string& folder);
// Returns the bytes of the file at `path`, in the open folder; `random` gives those of a new file.
// An error: the file cannot be made or read, or somebody else may know it.
base::Result<RandomBytes> random_file(int folder, const std::string& path, base::Random& random);

}  // namespace splitnic::control
