// Loading of eBPF programs for sockets and TAPs. Thread: any.
#pragma once

#include <linux/bpf.h>

#include <span>

#include "base/status.h"
#include "base/unique_fd.h"

namespace splitnic::base {

// Returns the descriptor of the loaded program, which the kernel has checked. An error: the kernel
// refuses, as it does without CAP_BPF.
Result<UniqueFd> load_socket_program(std::span<const bpf_insn> code);

}  // namespace splitnic::base
