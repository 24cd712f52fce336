#include "control/sandbox/sandbox.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/log.h"
#include "base/own_user.h"
#include "control/sandbox/allowed_calls.h"
#include "control/sandbox/capabilities.h"
#include "control/sandbox/refused_calls.h"

namespace splitnic::control::sandbox {
namespace {

bool opens_files(const Needs& needs) {
  return std::ranges::any_of(
      needs.folders, [](const FolderRule& rule) { return rule.right != FileRight::kRemove; });
}

}  // namespace

base::Status give_up_privileges(const Needs& needs) {
  ::tzset();  // log lines have the local time, and this reads its file
  base::keep_own_user();
  std::vector<unsigned> kept;
  if (needs.changes_interfaces) kept.push_back(CAP_NET_ADMIN);
  if (auto given_up = keep_capabilities(kept); !given_up) return given_up;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    return base::Error::from_errno("giving up privileges", errno);
  }
  if (const auto restricted = restrict_files(needs.folders); !restricted) {
    base::log_debug(restricted.error().text() + ": only the modes of files protect them");
  }
  return {};
}

base::Status filter_calls(const Needs& needs) {
  handle_refused_calls();
  return install_call_filter(call_filter(allowed_calls(opens_files(needs), needs.accepts_shm)));
}

}  // namespace splitnic::control::sandbox
