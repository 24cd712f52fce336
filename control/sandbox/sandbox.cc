#include "control/sandbox/sandbox.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "base/own_user.h"
#include "control/sandbox/allowed_calls.h"
#include "control/sandbox/process_capabilities.h"
#include "control/sandbox/refused_calls.h"

namespace splitnic::control::sandbox {
namespace {

bool opens_files(const Needs& needs) {
  return std::ranges::any_of(needs.files,
                             [](const FileRule& rule) { return rule.right != FileRight::kRemove; });
}

}  // namespace

// A file that replaces the present one is another inode, so the right is one of its folder. The
// kernel looks at the folder of the file itself, but a symbolic link may point elsewhere later,
// mostly below its own folder.
void Needs::read_again(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::absolute(path, error);
  files.push_back({file.parent_path().string(), FileRight::kRead});
  if (std::filesystem::is_symlink(file, error)) {
    const auto target = std::filesystem::weakly_canonical(file, error);
    files.push_back({target.parent_path().string(), FileRight::kRead});
  }
}

base::Status give_up_privileges(const Needs& needs) {
  ::tzset();  // log lines have the local time, and this reads its file
  base::keep_own_user();
  std::vector<unsigned> kept;
  if (needs.changes_interfaces) kept.push_back(CAP_NET_ADMIN);
  if (needs.opens_interfaces) kept.push_back(CAP_NET_RAW);
  if (auto given_up = keep_capabilities(kept); !given_up) return given_up;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    return base::Error::from_errno("giving up privileges", errno);
  }
  return restrict_files(needs.files);
}

base::Status filter_calls(const Needs& needs) {
  handle_refused_calls();
  return install_call_filter(call_filter(allowed_calls(opens_files(needs), needs.accepts_shm)));
}

}  // namespace splitnic::control::sandbox
