#include "lan_bridge/ports/net_namespace.h"

#include <fcntl.h>
#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/log.h"

namespace splitnic::lan {
namespace {

constexpr const char* kFolder = "/run/netns/";
constexpr const char* kOwn = "/proc/thread-self/ns/net";

base::UniqueFd open_file(const std::string& path) {
  return base::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

base::Result<NetNamespace> NetNamespace::open(const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos;
  base::UniqueFd file = open_file(is_path ? name : kFolder + name);
  if (file.valid()) return NetNamespace(name, std::move(file));
  if (errno == ENOENT) {
    return base::Error("no network namespace " + name + (is_path ? "" : ": ip netns add " + name),
                       ENODEV);
  }
  return base::Error::from_errno("opening the network namespace " + name, errno);
}

base::Result<NetNamespace::Scope> NetNamespace::enter() const {
  base::UniqueFd before = open_file(kOwn);
  if (!before.valid()) return base::Error::from_errno(std::string("opening ") + kOwn, errno);
  if (::setns(file_.get(), CLONE_NEWNET) == 0) return Scope(std::move(before));
  if (errno == EPERM) {
    return base::Error("entering the network namespace " + name_ +
                           ": not permitted: run as root or with CAP_SYS_ADMIN, a service also "
                           "with RestrictNamespaces=net",
                       EPERM);
  }
  if (errno == EINVAL) {
    return base::Error(name_ +
                           " is not a network namespace: give a name that ip netns lists, or a "
                           "path such as /proc/PID/ns/net",
                       EINVAL);
  }
  return base::Error::from_errno("entering the network namespace " + name_, errno);
}

// The thread must not continue in the wrong namespace.
NetNamespace::Scope::~Scope() {
  if (!before_.valid() || ::setns(before_.get(), CLONE_NEWNET) == 0) return;
  base::log_error("returning from a network namespace: " + std::generic_category().message(errno));
  std::_Exit(1);
}

}  // namespace splitnic::lan
