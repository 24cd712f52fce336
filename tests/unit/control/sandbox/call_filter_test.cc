// The filter as the kernel would run it, for each number and argument.
#include "control/sandbox/call_filter.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "control/sandbox/allowed_calls.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace splitnic::control::sandbox {
namespace call_filter_test {

#if defined(__x86_64__)
constexpr std::uint32_t kHere = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t kHere = AUDIT_ARCH_AARCH64;
#endif

// An interpreter of the instructions that a filter has.
std::uint32_t run(const std::vector<sock_filter>& filter, const seccomp_data& data) {
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < filter.size(); ++at) {
    const sock_filter& step = filter[at];
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + step.k, 4);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= step.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += accumulator == step.k ? step.jt : step.jf;
        break;
      case BPF_RET | BPF_K:
        return step.k;
      default:
        ADD_FAILURE() << "instruction " << step.code;
        return 0;
    }
  }
  ADD_FAILURE() << "no end";
  return 0;
}

seccomp_data call(long number, std::initializer_list<std::uint64_t> arguments = {}) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = kHere;
  std::copy(arguments.begin(), arguments.end(), data.args);
  return data;
}

TEST(CallFilterTest, M_9_a_number_that_is_not_there_is_refused) {
  const std::vector<AllowedCall> allowed = {{3}, {9}, {200}};
  const auto filter = call_filter(allowed);
  for (int number = -1; number < 1024; ++number) {
    const bool is_allowed = number == 3 || number == 9 || number == 200;
    EXPECT_EQ(run(filter, call(number)), is_allowed ? SECCOMP_RET_ALLOW : SECCOMP_RET_TRAP)
        << number;
  }
  constexpr long kX32 = 0x40000000;
  EXPECT_EQ(run(filter, call(kX32 | 3)), SECCOMP_RET_TRAP);
}

TEST(CallFilterTest, M_9_another_architecture_ends_the_process) {
  const std::vector<AllowedCall> allowed = {{3}};
  seccomp_data data = call(3);
  data.arch = AUDIT_ARCH_I386;
  EXPECT_EQ(run(call_filter(allowed), data), SECCOMP_RET_KILL_PROCESS);
}

TEST(CallFilterTest, M_9_every_check_of_a_call_must_pass) {
  const std::vector<AllowedCall> allowed = {{5, {{0, ~0U, {10, 11, 12}}, {2, 0xF0, {0x10, 0x30}}}},
                                            {6}};
  const auto filter = call_filter(allowed);
  for (std::uint64_t first = 8; first < 15; ++first) {
    for (std::uint64_t third = 0; third < 256; ++third) {
      const bool is_allowed =
          first >= 10 && first <= 12 && ((third & 0xF0) == 0x10 || (third & 0xF0) == 0x30);
      EXPECT_EQ(run(filter, call(5, {first, 99, third})),
                is_allowed ? SECCOMP_RET_ALLOW : SECCOMP_RET_TRAP);
    }
  }
  EXPECT_EQ(run(filter, call(6, {1, 2, 3})), SECCOMP_RET_ALLOW);
}

TEST(AllowedCallsTest, M_9_each_program_has_at_most_45_calls_and_none_twice) {
  static_assert(kAllowedCallsMax == 45);
  for (const bool opens_files : {false, true}) {
    for (const bool accepts_shm : {false, true}) {
      const auto calls = allowed_calls(opens_files, accepts_shm);
      EXPECT_LE(calls.size(), kAllowedCallsMax) << opens_files << accepts_shm;
      std::set<long> numbers;
      for (const AllowedCall& one : calls)
        EXPECT_TRUE(numbers.insert(one.number).second) << one.number;
    }
  }
}

TEST(AllowedCallsTest, M_9_S_61_what_breaks_out_of_a_process_is_refused) {
  for (const bool opens_files : {false, true}) {
    const auto filter = call_filter(allowed_calls(opens_files, true));
    for (const long number : {SYS_execve,      SYS_execveat,
                              SYS_clone,       SYS_clone3,
                              SYS_ptrace,      SYS_mount,
                              SYS_unshare,     SYS_setns,
                              SYS_pivot_root,  SYS_chroot,
                              SYS_bpf,         SYS_kill,
                              SYS_tgkill,      SYS_init_module,
                              SYS_keyctl,      SYS_io_uring_setup,
                              SYS_userfaultfd, SYS_perf_event_open,
                              SYS_setuid,      SYS_capset,
                              SYS_prctl,       SYS_process_vm_writev,
                              SYS_symlinkat,   SYS_fchmodat,
                              SYS_listen}) {
      EXPECT_EQ(run(filter, call(number)), SECCOMP_RET_TRAP) << number;
    }
    EXPECT_EQ(run(filter, call(SYS_openat)), opens_files ? SECCOMP_RET_ALLOW : SECCOMP_RET_TRAP);
    const auto verdict = [&](long number, std::initializer_list<std::uint64_t> arguments) {
      return run(filter, call(number, arguments));
    };
    EXPECT_EQ(verdict(SYS_socket, {AF_INET, SOCK_DGRAM | SOCK_CLOEXEC}), SECCOMP_RET_ALLOW);
    EXPECT_EQ(verdict(SYS_socket, {AF_INET6, SOCK_DGRAM, IPPROTO_UDP}), SECCOMP_RET_ALLOW);
    EXPECT_EQ(verdict(SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_ICMP}), SECCOMP_RET_TRAP);
    EXPECT_EQ(verdict(SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_AUDIT}), SECCOMP_RET_TRAP);
    EXPECT_EQ(verdict(SYS_socket, {AF_PACKET, SOCK_RAW}), SECCOMP_RET_TRAP);
    EXPECT_EQ(verdict(SYS_socket, {AF_INET, SOCK_STREAM}), SECCOMP_RET_TRAP) << "no TCP";
    EXPECT_EQ(verdict(SYS_bind, {3, 0, sizeof(sockaddr_nl)}), SECCOMP_RET_ALLOW);
    EXPECT_EQ(verdict(SYS_bind, {3, 0, sizeof(sockaddr_ll)}), SECCOMP_RET_TRAP) << "no other LAN";
    EXPECT_EQ(verdict(SYS_bind, {3, 0, sizeof(sockaddr_in)}), SECCOMP_RET_TRAP);
    EXPECT_EQ(verdict(SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE}), SECCOMP_RET_ALLOW);
    EXPECT_EQ(verdict(SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC}), SECCOMP_RET_TRAP);
    EXPECT_EQ(verdict(SYS_mprotect, {0, 4096, PROT_READ | PROT_EXEC}), SECCOMP_RET_TRAP);
    constexpr std::uint64_t kTiocsti = 0x5412;
    EXPECT_EQ(verdict(SYS_ioctl, {0, kTiocsti}), SECCOMP_RET_TRAP);
  }
}

}  // namespace call_filter_test
}  // namespace splitnic::control::sandbox
