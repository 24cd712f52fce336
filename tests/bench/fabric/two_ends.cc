#include "tests/bench/fabric/two_ends.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace splitnic::bench {

void fail(const std::string& why) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
  ::_exit(1);
}

bool Control::is_readable() const {
  pollfd one{fd_.get(), POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

void Control::send(std::span<const std::byte> bytes) {
  if (::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0)
    fail("the other end is gone");
}

std::size_t Control::receive(std::span<std::byte> room) {
  const ssize_t got = ::recv(fd_.get(), room.data(), room.size(), 0);
  if (got <= 0) fail("the other end is gone");
  return static_cast<std::size_t>(got);
}

namespace {

void enter(const std::string& netns) {
  if (netns.empty()) return;
  const base::UniqueFd fd(::open(("/run/netns/" + netns).c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0 || ::setns(fd.get(), CLONE_NEWNET) != 0) {
    fail("network namespace " + netns + ": " + std::strerror(errno));
  }
}

void pin_to(unsigned which) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  for (unsigned cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || seen++ != which) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

pid_t start(const Ends& ends, bool is_active, const Body& body, base::UniqueFd& mine,
            base::UniqueFd& theirs) {
  const pid_t child = ::fork();
  if (child < 0) fail(std::string("fork: ") + std::strerror(errno));
  if (child > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  theirs = base::UniqueFd();
  enter(is_active ? ends.active_netns : ends.passive_netns);
  if (ends.is_pinned) pin_to(is_active ? 0 : 1);
  {
    Control control(std::move(mine));
    body(control);
  }
  std::fflush(stdout);
  ::_exit(0);
}

}  // namespace

bool run_two(const Ends& ends, const Body& passive, const Body& active) {
  std::fflush(stdout);
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    fail(std::string("socketpair: ") + std::strerror(errno));
  }
  base::UniqueFd at_active(pair[0]);
  base::UniqueFd at_passive(pair[1]);
  const pid_t first = start(ends, false, passive, at_passive, at_active);
  const pid_t second = start(ends, true, active, at_active, at_passive);
  at_active = base::UniqueFd();
  at_passive = base::UniqueFd();
  bool succeeded = true;
  for (const pid_t child : {second, first}) {
    int status = 0;
    succeeded &= ::waitpid(child, &status, 0) == child && status == 0;
    if (WIFSIGNALED(status)) {
      std::fprintf(stderr, "%s: the %s end did not exit: %s\n", program_invocation_short_name,
                   child == first ? "passive" : "active", ::strsignal(WTERMSIG(status)));
    }
  }
  return succeeded;
}

}  // namespace splitnic::bench
