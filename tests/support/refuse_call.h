// A kernel that does not know something: from now on system calls of this thread fail with EINVAL
// if they are `number`, have `value` as argument `which`, and the next argument is `next`, or has
// any bit of it. For tests of what is done without. It ends with the thread.
#pragma once

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace splitnic::support {

enum class Next { kIs, kHasAnyOf };

inline void refuse_call(std::uint32_t number, unsigned which, std::uint32_t value, Next how,
                        std::uint32_t next) {
  const auto argument = [](unsigned i) {
    return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + i * sizeof(std::uint64_t));
  };
  const int jump = BPF_K | (how == Next::kIs ? BPF_JEQ : BPF_JSET);
  std::array<sock_filter, 8> code = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(which)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(which + 1)),
      sock_filter{static_cast<std::uint16_t>(BPF_JMP | jump), 0, 1, next},
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{code.size(), code.data()};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

}  // namespace splitnic::support
