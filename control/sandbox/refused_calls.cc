#include "control/sandbox/refused_calls.h"

#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/stderr_sink.h"

namespace splitnic::control::sandbox {
namespace {

constexpr std::size_t kNumbers = 1024;  // higher ones share the last line

std::atomic<std::uint64_t> refused{0};
std::array<std::atomic<bool>, kNumbers> is_reported{};

// Every function here is safe in a handler (signal-safety(7)): no lock, no memory.
void report(int number) {
  static constexpr std::string_view kBefore = "the sandbox refused system call ";
  static constexpr std::string_view kAfter =
      ": if a feature fails, give --no-sandbox and report it\n";
  std::array<char, 128> line;
  char* at = line.data();
  at = std::copy(kBefore.begin(), kBefore.end(), at);
  at = std::to_chars(at, line.data() + line.size() - kAfter.size(), number).ptr;
  at = std::copy(kAfter.begin(), kAfter.end(), at);
  base::write_without_waiting(STDERR_FILENO,
                              {line.data(), static_cast<std::size_t>(at - line.data())});
}

void set_result(ucontext_t& context, int result) {
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RAX] = result;
#else
  context.uc_mcontext.regs[0] = static_cast<unsigned long long>(result);
#endif
}

void on_refused(int /*signal*/, siginfo_t* info, void* context) {
  const int before = errno;
  refused.fetch_add(1, std::memory_order_relaxed);
  const auto number = static_cast<std::size_t>(info->si_syscall);
  if (!is_reported[std::min(number, kNumbers - 1)].exchange(true, std::memory_order_relaxed)) {
    report(info->si_syscall);
  }
  set_result(*static_cast<ucontext_t*>(context), -EPERM);
  errno = before;
}

}  // namespace

void handle_refused_calls() {
  struct sigaction action {};
  action.sa_sigaction = on_refused;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  CHECK(::sigaction(SIGSYS, &action, nullptr) == 0);
}

std::uint64_t refused_calls() { return refused.load(std::memory_order_relaxed); }

}  // namespace splitnic::control::sandbox
