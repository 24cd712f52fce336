#include "control/sandbox/call_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <string>

namespace splitnic::control::sandbox {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "name the architecture of linux/audit.h, and set the result of a call in refused_calls.cc"
#endif

using Program = std::vector<sock_filter>;

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter jump_if_equal(std::uint32_t value, std::size_t if_equal, std::size_t if_not) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, static_cast<std::uint8_t>(if_equal),
                  static_cast<std::uint8_t>(if_not));
}
sock_filter end_with(std::uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }

std::size_t low_half_of(unsigned argument) {
  constexpr std::size_t kOffset = std::endian::native == std::endian::little ? 0 : 4;
  return offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t) + kOffset;
}

void add_check(const ArgumentCheck& check, Program& to) {
  to.push_back(load(low_half_of(check.argument)));
  to.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, check.mask));
  std::size_t behind = check.values.size();  // instructions to jump over
  for (const std::uint32_t value : check.values) to.push_back(jump_if_equal(value, behind--, 0));
  to.push_back(end_with(SECCOMP_RET_TRAP));
}

}  // namespace

std::vector<sock_filter> call_filter(std::span<const AllowedCall> allowed) {
  Program out = {load(offsetof(seccomp_data, arch)), jump_if_equal(kArchitecture, 1, 0),
                 end_with(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr))};
  for (const AllowedCall& call : allowed) {
    Program block;
    for (const ArgumentCheck& check : call.checks) add_check(check, block);
    block.push_back(end_with(SECCOMP_RET_ALLOW));
    // A block ends the filter: the number is still loaded for the next comparison.
    out.push_back(jump_if_equal(static_cast<std::uint32_t>(call.number), 0, block.size()));
    out.insert(out.end(), block.begin(), block.end());
  }
  out.push_back(end_with(SECCOMP_RET_TRAP));
  return out;
}

base::Status install_call_filter(std::span<const sock_filter> filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  // SPEC_ALLOW: the program runs no code of others, so it does without the barriers against
  // speculation that older kernels (before 5.16) would give every thread with a filter.
  constexpr unsigned kFlags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  const long result = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &program);
  if (result == 0) return {};
  if (result > 0) {
    return base::Error("filtering system calls: thread " + std::to_string(result) +
                       " has a filter that the others do not have");
  }
  return base::Error::from_errno("filtering system calls", errno);
}

}  // namespace splitnic::control::sandbox
