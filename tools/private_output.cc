#include "tools/private_output.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/private_file.h"

namespace splitnic::tools {

base::Result<base::UniqueFd> open_private_output(const std::string& path) {
  if (path != "-") return base::create_private_file(path);
  base::UniqueFd output(::dup(STDOUT_FILENO));
  if (!output.valid()) return base::Error::from_errno("the standard output", errno);
  return {boost::system::in_place_value, std::move(output)};
}

base::Status check_output(const std::string& option, const std::string& path) {
  if (path != "-" || ::isatty(STDOUT_FILENO) != 1) return {};
  return base::Error(option +
                     ": the standard output is a terminal: pipe it, such as | tshark -r -");
}

}  // namespace splitnic::tools
