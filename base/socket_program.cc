#include "base/socket_program.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace splitnic::base {

Result<UniqueFd> load_socket_program(std::span<const EbpfInstruction> code) {
  static constexpr char kLicense[] = "Apache-2.0";
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
  attributes.insns = reinterpret_cast<std::uintptr_t>(code.data());
  attributes.insn_cnt = static_cast<std::uint32_t>(code.size());
  attributes.license = reinterpret_cast<std::uintptr_t>(kLicense);
  UniqueFd fd(static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof attributes)));
  if (!fd.valid()) return Error::from_errno("loading a program into the kernel", errno);
  return fd;
}

}  // namespace splitnic::base
