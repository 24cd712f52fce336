#include "control/sd_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>

#include "base/attach_descriptors.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "control/config/values.h"

namespace splitnic::control {

base::Status notify(const std::string& socket, std::string_view state, int passed) {
  if (socket.empty()) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if ((socket[0] != '/' && socket[0] != '@') || socket.size() < 2 ||
      socket.size() >= sizeof(address.sun_path)) {
    return base::Error("NOTIFY_SOCKET is neither a path nor an abstract name: " + socket);
  }
  std::memcpy(address.sun_path, socket.data(), socket.size());
  // An abstract name begins with a zero byte and ends with the address, without a terminator.
  const bool is_abstract = socket[0] == '@';
  if (is_abstract) address.sun_path[0] = '\0';
  const std::size_t bytes = offsetof(sockaddr_un, sun_path) + socket.size() + (is_abstract ? 0 : 1);

  const base::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return base::Error::from_errno("making a socket for NOTIFY_SOCKET", errno);
  iovec text{const_cast<char*>(state.data()), state.size()};
  msghdr message{};
  message.msg_name = &address;
  message.msg_namelen = static_cast<socklen_t>(bytes);
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> rights{};
  if (passed >= 0) base::attach_descriptors(message, std::span(&passed, 1), rights);
  const ssize_t sent = ::sendmsg(fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return base::Error::from_errno("sending to NOTIFY_SOCKET " + socket, errno);
  return {};
}

namespace {
void notify_environment(std::string_view state) {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  if (socket == nullptr) return;
  if (auto status = notify(socket, state); !status) base::log_warn(status.error().text());
}
}  // namespace

bool has_service_manager() { return std::getenv("NOTIFY_SOCKET") != nullptr; }

void notify_ready() { notify_environment("READY=1"); }
void notify_stopping() { notify_environment("STOPPING=1"); }
void notify_status(std::string_view text) { notify_environment("STATUS=" + std::string(text)); }

// The time distinguishes the READY=1 that follows from an earlier one.
void notify_reloading() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto us = static_cast<std::int64_t>(now.tv_sec) * 1000000 + now.tv_nsec / 1000;
  notify_environment("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(us));
}
void notify_alive() { notify_environment("WATCHDOG=1"); }

std::optional<base::Duration> watchdog_interval() {
  const char* const waits_us = std::getenv("WATCHDOG_USEC");
  const char* const pid = std::getenv("WATCHDOG_PID");
  if (waits_us == nullptr || (pid != nullptr && pid != std::to_string(::getpid()))) return {};
  const auto number = parse_number(waits_us, std::uint64_t{1} << 40);
  if (!number || *number < 2) return {};
  return std::chrono::microseconds(*number / 2);
}

}  // namespace splitnic::control
