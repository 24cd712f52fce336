// Loading of eBPF programs for sockets and TAPs. Thread: any.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "base/unique_fd.h"

namespace splitnic::base {

// One eBPF instruction as the kernel reads it: its struct bpf_insn under another name, because
// libpcap has another type of that name.
struct EbpfInstruction {
  std::uint8_t code;
  std::uint8_t dst_reg : 4;
  std::uint8_t src_reg : 4;
  std::int16_t off;
  std::int32_t imm;
};
static_assert(sizeof(EbpfInstruction) == 8);

// Returns the descriptor of the loaded program, which the kernel has checked. An error: the kernel
// refuses, as it does without CAP_BPF.
Result<UniqueFd> load_socket_program(std::span<const EbpfInstruction> code);

}  // namespace splitnic::base
