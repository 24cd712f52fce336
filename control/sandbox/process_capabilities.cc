#include "control/sandbox/process_capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace splitnic::control::sandbox {
namespace {

using Words = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

// Of this thread; the kernel writes into it when asked with a version that it does not know.
__user_cap_header_struct header() { return {_LINUX_CAPABILITY_VERSION_3, 0}; }

// Numbers that this kernel does not have fail with EINVAL, and all without CAP_SETPCAP with EPERM:
// the set of the service manager stays then.
void empty_bounding_set() {
  constexpr unsigned kNumbers = 64;
  for (unsigned number = 0; number < kNumbers; ++number) ::prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
}

}  // namespace

base::Status keep_capabilities(std::span<const unsigned> kept) {
  constexpr unsigned kWordBits = 32;
  auto of_this_thread = header();
  Words now{};
  if (::syscall(SYS_capget, &of_this_thread, now.data()) != 0) {
    return base::Error::from_errno("reading the capabilities", errno);
  }
  Words wanted{};
  for (const unsigned number : kept) {
    const std::uint32_t bit = 1U << (number % kWordBits);
    const std::size_t word = number / kWordBits;
    wanted[word].permitted |= now[word].permitted & bit;
    wanted[word].effective = wanted[word].permitted;
  }
  empty_bounding_set();
  of_this_thread = header();
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
      ::syscall(SYS_capset, &of_this_thread, wanted.data()) != 0) {
    return base::Error::from_errno("giving up capabilities", errno);
  }
  return {};
}

}  // namespace splitnic::control::sandbox
