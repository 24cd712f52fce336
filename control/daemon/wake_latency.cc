#include "control/daemon/wake_latency.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"

namespace splitnic::control {
namespace {

// Any latency, in microseconds: the kernel's PM_QOS_CPU_LATENCY_DEFAULT_VALUE.
constexpr std::int32_t kAnyLatency = 2'000'000'000;

base::Error keep_awake_error(const std::string& what, int error) {
  return base::Error::from_errno(what, error).within("--keep-awake");
}

}  // namespace

base::Result<WakeLatency> WakeLatency::open(const WakeLatencyOptions& options) {
  base::UniqueFd file(::open(options.file.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.valid()) return WakeLatency(std::move(file), options.held_for);
  const int error = errno;
  const char* const advice =
      error == ENOENT
          ? ": give the container or service this device (docs/recipes.md); where the kernel has "
            "none, leave the option out"
          : ": permit the user and service of this program to write there (docs/recipes.md), or "
            "leave the option out";
  return base::Error(keep_awake_error("opening " + options.file, error).text() + advice, error);
}

void WakeLatency::hold(bool is_held) {
  const std::int32_t latency = is_held ? 0 : kAnyLatency;
  is_held_ = is_held;
  if (::write(file_.get(), &latency, sizeof latency) == static_cast<ssize_t>(sizeof latency))
    return;
  base::log_warn(keep_awake_error("requesting wake-ups without latency", errno).text() +
                 ": idle processors halt until the next start");
  is_held_ = false;
  file_.reset();
}

}  // namespace splitnic::control
