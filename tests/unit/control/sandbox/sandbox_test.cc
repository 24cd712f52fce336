// The sandbox around a child process, which then tries what it may no longer do.
#include "control/sandbox/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <latch>
#include <string>
#include <thread>

#include "base/own_user.h"
#include "control/sandbox/process_capabilities.h"
#include "control/sandbox/refused_calls.h"
#include "tests/support/child.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control::sandbox {
namespace sandbox_test {

using support::in_child;
using support::TempFolder;

// One field of /proc/self/status.
std::string status_of_this_thread(const std::string& field) {
  std::ifstream status("/proc/thread-self/status");
  std::string name, value;
  while (status >> name) {
    if (name == field + ":") {
      status >> value;
      return value;
    }
    std::getline(status, value);
  }
  return "";
}

bool can_read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}
bool can_make(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

TEST(SandboxTest, M_9_only_the_capabilities_that_are_kept_stay) {
  EXPECT_EQ(in_child([] {
              const unsigned kept[] = {CAP_NET_ADMIN};
              if (!keep_capabilities(kept)) return 1;
              if (status_of_this_thread("CapEff") != "0000000000001000") return 2;
              if (status_of_this_thread("CapPrm") != "0000000000001000") return 3;
              if (status_of_this_thread("CapInh") != "0000000000000000") return 4;
              if (status_of_this_thread("CapBnd") != "0000000000000000") return 5;
              if (!keep_capabilities({})) return 6;
              if (!keep_capabilities(kept)) return 7;
              return status_of_this_thread("CapEff") == "0000000000000000" ? 0 : 8;
            }),
            0);
}

TEST(SandboxTest, M_9_nothing_is_gained_by_a_program_and_no_memory_is_dumped) {
  EXPECT_EQ(in_child([] {
              if (!give_up_privileges({})) return 1;
              if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return 2;
              return ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : 3;
            }),
            0);
}

TEST(SandboxTest, F_52_a_rule_that_cannot_be_made_is_an_error) {
  const TempFolder folder;
  Needs needs;
  needs.files.push_back({folder.path(), FileRight::kRead});
  EXPECT_EQ(in_child([&] {
              // One descriptor is left, for the rules, and none for the folder.
              const int next = ::dup(STDERR_FILENO);
              ::close(next);
              const rlimit limit{static_cast<rlim_t>(next) + 1, static_cast<rlim_t>(next) + 1};
              if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
              const auto given_up = give_up_privileges(needs);
              return given_up ? 2 : given_up.error().errno_value() == EMFILE ? 0 : 3;
            }),
            0);
}

TEST(SandboxTest, M_9_files_are_reached_by_the_rules_only) {
  const TempFolder read, replaced, other, removed;
  for (const auto* folder : {&read, &replaced, &other, &removed}) {
    ASSERT_TRUE(can_make(folder->path("file")));
  }
  EXPECT_EQ(in_child([&] {
              const Needs needs{.files = {{read.path(), FileRight::kRead},
                                          {replaced.path(), FileRight::kReplace},
                                          {removed.path(), FileRight::kRemove},
                                          {"/nonexistent/folder", FileRight::kRead}}};
              if (!give_up_privileges(needs)) return 1;
              if (!can_read(read.path("file")) || can_make(read.path("new"))) return 2;
              if (::unlink(read.path("file").c_str()) == 0) return 3;
              if (!can_make(replaced.path("new"))) return 4;
              if (::rename(replaced.path("new").c_str(), replaced.path("file").c_str()) != 0)
                return 5;
              if (can_read(removed.path("file")) || can_make(removed.path("new"))) return 6;
              if (::unlink(removed.path("file").c_str()) != 0) return 7;
              return can_read(other.path("file")) || can_make("/tmp/splitnic-new") ? 8 : 0;
            }),
            0);
}

// ThreadSanitizer starts a thread in the child. If the filter comes while that thread begins, with
// its signals blocked, the kernel ends the process, and later it makes calls that are counted. The
// programs that are built with ThreadSanitizer have no sandbox (kIsBuilt).
#ifndef __SANITIZE_THREAD__

bool is_refused(long result) { return result == -1 && errno == EPERM; }

// Also in a thread that is there when the filter comes.
TEST(SandboxTest, M_9_S_61_forbidden_calls_fail_are_counted_and_the_program_continues) {
  const auto tries = [] {
    errno = 0;
    return is_refused(::syscall(SYS_execve, "/bin/true", nullptr, nullptr)) &&
           is_refused(::syscall(SYS_mount, "a", "b", "c", 0, nullptr)) &&
           is_refused(::syscall(SYS_ptrace, 0, 0, 0, 0)) &&
           is_refused(::socket(AF_PACKET, SOCK_RAW, 0)) && is_refused(::fork());
  };
  ::testing::internal::CaptureStderr();
  // When a thread ends and in _exit() sanitizers make calls that are refused, so the thread lasts
  // as long as the process, which ends by the plain call.
  EXPECT_EQ(in_child([&] {
              std::latch begun(1), go(1), ended(1), never(1);
              bool is_refused_there = false;
              std::thread([&] {
                begun.count_down();
                go.wait();
                is_refused_there = tries();
                ended.count_down();
                never.wait();
              }).detach();
              begun.wait();
              if (!give_up_privileges({}) || !filter_calls({})) return 1;
              if (can_read("/proc/thread-self/status")) return 2;
              const std::uint64_t before = refused_calls();
              if (!tries()) return 3;
              go.count_down();
              ended.wait();
              const bool is_counted = refused_calls() == before + 2 * 5;
              return static_cast<int>(::syscall(SYS_exit_group, !is_refused_there ? 4
                                                                : is_counted      ? 0
                                                                                  : 5));
            }),
            0);
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::string line = "the sandbox refused system call " + std::to_string(SYS_execve) + ":";
  EXPECT_NE(log.find(line), std::string::npos) << log;
  EXPECT_EQ(log.find(line), log.rfind(line)) << "once: " << log;
}

TEST(SandboxTest, M_9_the_user_of_the_process_is_known_without_a_call) {
  EXPECT_EQ(
      in_child([] {
        const std::uint32_t own = base::own_user();
        if (!give_up_privileges({}) || !filter_calls({})) return 1;
        const std::uint64_t before = refused_calls();
        const bool is_same = base::own_user() == own && refused_calls() == before;
        const bool is_call_refused = is_refused(::syscall(SYS_geteuid));
        return static_cast<int>(::syscall(SYS_exit_group, !is_same ? 2 : !is_call_refused ? 3 : 0));
      }),
      0);
}

#endif

}  // namespace sandbox_test
}  // namespace splitnic::control::sandbox
