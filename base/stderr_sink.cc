#include "base/stderr_sink.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace splitnic::base {

bool write_without_waiting(int fd, std::string_view line) {
  // The journal's stream is a socket.
  const ssize_t sent = ::send(fd, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent) == line.size();
  if (errno != ENOTSOCK) return false;
  pollfd stream{fd, POLLOUT, 0};
  if (::poll(&stream, 1, 0) != 1 || (stream.revents & POLLOUT) == 0) return false;
  const ssize_t written = ::write(fd, line.data(), line.size());
  return written >= 0 && static_cast<std::size_t>(written) == line.size();
}

void StderrSink::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  formatter_->format(message, line);
  if (line.size() > kLogLineBytesMax) {
    line.resize(kLogLineBytesMax);
    line[kLogLineBytesMax - 1] = '\n';
  }
  if (!write_without_waiting(STDERR_FILENO, {line.data(), line.size()})) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace splitnic::base
