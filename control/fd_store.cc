#include "control/fd_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/log.h"
#include "control/config/values.h"
#include "control/sd_notify.h"

namespace splitnic::control {
namespace {

constexpr std::uint64_t kStoredMax = 1024;
constexpr int kFirstPassed = 3;  // behind stdin, stdout and stderr

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

void notify_manager(const std::string& state, int fd = -1) {
  if (auto sent = notify(environment("NOTIFY_SOCKET"), state, fd); !sent) {
    base::log_warn("the service manager's store of descriptors: " + sent.error().text());
  }
}

// Of "a:b" the first name, which is taken off.
std::string next_name(std::string_view& names) {
  const std::size_t end = names.find(':');
  std::string name(names.substr(0, end));
  names.remove_prefix(end == std::string_view::npos ? names.size() : end + 1);
  return name;
}

}  // namespace

bool has_fd_store() {
  const auto kept = parse_number(environment("FDSTORE"), kStoredMax);
  return has_service_manager() && kept && *kept > 0;
}

void store_fd(int fd, const std::string& name) { notify_manager("FDSTORE=1\nFDNAME=" + name, fd); }

void forget_stored_fd(const std::string& name) {
  notify_manager("FDSTOREREMOVE=1\nFDNAME=" + name);
}

base::UniqueFd take_stored_fd(const std::string& name) {
  const bool is_ours = environment("LISTEN_PID") == std::to_string(::getpid());
  const auto count = parse_number(environment("LISTEN_FDS"), kStoredMax);
  const std::string all_names = environment("LISTEN_FDNAMES");
  for (const char* const variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) {
    ::unsetenv(variable);
  }
  base::UniqueFd found;
  if (!is_ours || !count) return found;
  std::string_view names = all_names;
  for (int i = 0; i < static_cast<int>(*count); ++i) {
    base::UniqueFd passed(kFirstPassed + i);
    if (::fcntl(passed.get(), F_SETFD, FD_CLOEXEC) < 0) {
      (void)passed.release();  // it is not open
      continue;
    }
    if (next_name(names) == name && !found.valid()) found = std::move(passed);
  }
  return found;
}

}  // namespace splitnic::control
