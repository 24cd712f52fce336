#include "control/daemon/hook_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

#include "base/unique_fd.h"

namespace splitnic::control {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kLineBytesMax = 512;
constexpr std::size_t kReadBytes = 4096;
constexpr int kReadsAtOnce = 16;  // all that a pipe holds
constexpr int kLookEveryMs = 20;  // whether it has ended, while it prints nothing

// The output of a command, cut into lines.
class Lines {
 public:
  explicit Lines(const std::function<void(std::string_view)>& on_line) : on_line_(on_line) {}

  // Takes what the pipe holds, and no more: a command may print faster than its lines are logged.
  // Returns false at the end.
  bool read_from(int fd) {
    std::array<char, kReadBytes> buffer{};
    for (int reads = 0; reads < kReadsAtOnce; ++reads) {
      const ssize_t n = ::read(fd, buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return n < 0 && errno == EAGAIN;
      for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(n))) take(c);
    }
    return true;
  }
  void end() {
    if (!line_.empty()) on_line_(line_);
    line_.clear();
  }

 private:
  void take(char c) {
    if (c == '\n') return end();
    if (line_.size() < kLineBytesMax) line_ += c;
  }

  const std::function<void(std::string_view)>& on_line_;
  std::string line_;
};

// A separate process group; nothing is open but the output, and signals are as a program expects.
int spawn(const HookCommand& command, int output, pid_t& process) {
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t by_default;
  ::sigemptyset(&by_default);
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGCHLD}) ::sigaddset(&by_default, signal);
  if (!command.ignores_term) ::sigaddset(&by_default, SIGTERM);
  ::posix_spawnattr_setsigdefault(&attributes, &by_default);
  std::string shell = "sh";
  std::string option = "-c";
  std::string text = command.text;
  const std::array<char*, 4> words{shell.data(), option.data(), text.data(), nullptr};
  std::vector<std::string> environment = command.environment;
  std::vector<char*> variables;
  variables.reserve(environment.size() + 1);
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  const int error =
      ::posix_spawn(&process, "/bin/sh", &files, &attributes, words.data(), variables.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return error;
}

std::string seconds_text(base::Duration duration) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return milliseconds % 1000 == 0 ? std::to_string(milliseconds / 1000) + " s"
                                  : std::to_string(milliseconds) + " ms";
}

std::string end_text(int status) {
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return "";
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::string run(const HookCommand& command, const std::function<void(std::string_view)>& on_line) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return "cannot be started: " + std::generic_category().message(errno);
  }
  const base::UniqueFd input(ends[0]);
  base::UniqueFd output(ends[1]);
  ::fcntl(input.get(), F_SETFL, O_NONBLOCK);
  pid_t process = 0;
  if (const int error = spawn(command, output.get(), process); error != 0) {
    return "cannot be started: " + std::generic_category().message(error);
  }
  output.reset();
  Lines lines(on_line);
  const auto until = SteadyClock::now() + command.limit;
  bool has_output = true;
  for (;;) {
    int status = 0;
    const pid_t got = ::waitpid(process, &status, WNOHANG);
    const bool is_unknown = got < 0 && errno == ECHILD;  // its number may be another's by now
    if (has_output) has_output = lines.read_from(input.get());
    if (got == process || is_unknown) {
      lines.end();
      return is_unknown ? "ended with a status that is not known" : end_text(status);
    }
    if (SteadyClock::now() >= until) {
      ::kill(-process, SIGKILL);
      ::waitpid(process, &status, 0);
      lines.end();
      return "took longer than " + seconds_text(command.limit) + " and was killed";
    }
    pollfd ready{has_output ? input.get() : -1, POLLIN, 0};
    ::poll(&ready, 1, kLookEveryMs);
  }
}

}  // namespace splitnic::control
