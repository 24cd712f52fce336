#include "control/daemon/side_process.h"

#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "control/sandbox/sandbox.h"

namespace splitnic::control {
namespace {

constexpr int kSocket = 3;  // behind stdin, stdout and stderr

std::optional<std::string> receive_packet(int fd, int flags, bool& is_over) {
  std::array<char, SideProcess::kPacketBytesMax> buffer;
  for (;;) {
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), flags);
    if (n > 0) return std::string(buffer.data(), static_cast<std::size_t>(n));
    if (n < 0 && errno == EINTR) continue;
    is_over = n == 0 || errno != EAGAIN;
    return std::nullopt;
  }
}

// Files are read wherever the modules of the C library need it: hosts, name servers, the modules.
sandbox::Needs needs() {
  sandbox::Needs needs;
  for (const char* const folder : {"/etc", "/run", "/usr", "/lib", "/lib64"}) {
    needs.folders.push_back({folder, sandbox::FileRight::kRead});
  }
  return needs;
}

[[noreturn]] void run(int socket, const std::string& name, bool is_restricted, pid_t program,
                      const std::function<void(SideProcess::Channel)>& body) {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);
  ::prctl(PR_SET_NAME, name.c_str());
  const bool is_alone =
      ::dup2(socket, kSocket) == kSocket && ::syscall(SYS_close_range, kSocket + 1, ~0U, 0) == 0;
  const bool is_ready = is_alone && ::getppid() == program &&
                        (!is_restricted || sandbox::give_up_privileges(needs()));
  if (is_ready) body(SideProcess::Channel(kSocket));
  ::_exit(is_ready ? 0 : 1);
}

}  // namespace

std::optional<std::string> SideProcess::Channel::receive() const {
  bool is_over = false;
  return receive_packet(fd_, 0, is_over);
}

void SideProcess::Channel::send(const std::string& packet) const {
  ::send(fd_, packet.data(), packet.size(), MSG_NOSIGNAL);
}

base::Result<std::unique_ptr<SideProcess>> SideProcess::begin(const std::string& name,
                                                              bool is_restricted,
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
  if (forked == 0) run(theirs.get(), name, is_restricted, program, body);
  return std::unique_ptr<SideProcess>(new SideProcess(std::move(ours)));
}

bool SideProcess::send(const std::string& packet) {
  return ::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(packet.size());
}

std::optional<std::string> SideProcess::receive() {
  if (!is_alive_) return std::nullopt;
  bool is_over = false;
  auto packet = receive_packet(socket_.get(), MSG_DONTWAIT, is_over);
  if (is_over) is_alive_ = false;
  return packet;
}

}  // namespace splitnic::control
