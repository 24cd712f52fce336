#include "control/daemon/side_process.h"

#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include "base/attach_descriptors.h"
#include "base/check.h"

namespace splitnic::control {
namespace {

constexpr int kSocket = 3;  // behind stdin, stdout and stderr

using Packet = SideProcess::Packet;
constexpr std::size_t kControlBytes = CMSG_SPACE(SideProcess::kDescriptorsMax * sizeof(int));

void take_descriptors(msghdr& message, std::vector<base::UniqueFd>& out) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      out.emplace_back(fd);
    }
  }
}

std::optional<Packet> receive_from(int fd, int flags, bool& is_over) {
  std::array<char, SideProcess::kPacketBytesMax> buffer;
  alignas(cmsghdr) std::array<char, kControlBytes> control;
  for (;;) {
    iovec io{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t n = ::recvmsg(fd, &message, flags | MSG_CMSG_CLOEXEC);
    if (n > 0) {
      Packet packet{std::string(buffer.data(), static_cast<std::size_t>(n))};
      take_descriptors(message, packet.descriptors);
      return packet;
    }
    if (n < 0 && errno == EINTR) continue;
    is_over = n == 0 || errno != EAGAIN;
    return std::nullopt;
  }
}

// An exception must not unwind the frames of the program, whose sockets they would remove.
[[noreturn]] void run(int socket, const std::string& name,
                      const std::optional<sandbox::Needs>& kept, pid_t program,
                      const std::function<void(SideProcess::Channel)>& body) noexcept {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // whoever began the program may have it ignored
  ::prctl(PR_SET_NAME, name.c_str());
  const bool is_alone =
      ::dup2(socket, kSocket) == kSocket && ::syscall(SYS_close_range, kSocket + 1, ~0U, 0) == 0;
  const bool is_ready =
      is_alone && ::getppid() == program && (!kept || sandbox::give_up_privileges(*kept));
  if (is_ready) body(SideProcess::Channel(kSocket));
  ::_exit(is_ready ? 0 : 1);
}

}  // namespace

std::optional<std::string> SideProcess::Channel::receive() const {
  bool is_over = false;
  auto packet = receive_from(fd_, 0, is_over);
  return packet ? std::optional(std::move(packet->text)) : std::nullopt;
}

bool SideProcess::Channel::send(const std::string& packet, std::span<const int> descriptors) const {
  CHECK(descriptors.size() <= kDescriptorsMax);
  std::string text = packet;
  iovec io{text.data(), text.size()};
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control{};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) base::attach_descriptors(message, descriptors, control);
  return ::sendmsg(fd_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

std::optional<sandbox::Needs> SideProcess::reads_no_files(bool is_restricted) {
  if (!is_restricted) return std::nullopt;
  return sandbox::Needs();
}

base::Result<std::unique_ptr<SideProcess>> SideProcess::begin(
    const std::string& name, const std::optional<sandbox::Needs>& kept,
    std::function<void(Channel)> body) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return base::Error::from_errno("beginning the process " + name, errno);
  }
  base::UniqueFd ours(ends[0]);
  const base::UniqueFd theirs(ends[1]);
  const pid_t program = ::getpid();
  const pid_t forked = ::fork();
  if (forked < 0) return base::Error::from_errno("beginning the process " + name, errno);
  if (forked == 0) run(theirs.get(), name, kept, program, body);
  return std::unique_ptr<SideProcess>(new SideProcess(std::move(ours)));
}

bool SideProcess::send(const std::string& packet) {
  return ::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(packet.size());
}

std::optional<SideProcess::Packet> SideProcess::receive_packet() {
  if (!is_alive_) return std::nullopt;
  bool is_over = false;
  auto packet = receive_from(socket_.get(), MSG_DONTWAIT, is_over);
  if (is_over) is_alive_ = false;
  return packet;
}

}  // namespace splitnic::control
