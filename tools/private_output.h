// The output of a command that writes what users sent: a file that is readable by its owner only,
// or the standard output for "-".
#pragma once

#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace splitnic::tools {

base::Result<base::UniqueFd> open_private_output(const std::string& path);
// Returns an error, which begins with `option`, if `path` is "-" and a terminal would show the
// bytes.
base::Status check_output(const std::string& option, const std::string& path);

}  // namespace splitnic::tools
