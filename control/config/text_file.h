// Reads a file of rights or of a topology as a whole. It is opened without waiting, so that a FIFO
// is refused and not waited for.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace splitnic::control {

struct TextFile {
  std::string bytes;  // at most one more than the limit
  // The reason why the file must not decide over rights: others than its owner may write to it, or
  // it belongs to neither root nor the user of this program. "": it may.
  std::string untrusted;
};

// An error: it cannot be read, or is not a regular file.
base::Result<TextFile> read_text_file(const std::string& path, std::size_t bytes_max);
// The error for a text beyond `bytes_max`, which is a number of MiB.
base::Error too_long(std::size_t bytes_max);

}  // namespace splitnic::control
