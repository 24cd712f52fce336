#include "fabric_emul/underlay/incoming_cpu.h"

#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "base/socket_program.h"
#include "base/unique_fd.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kPageBytes = sizeof(std::uint32_t);

base::UniqueFd make_page() {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = sizeof(std::uint32_t);
  attributes.value_size = kPageBytes;
  attributes.max_entries = 1;
  attributes.map_flags = BPF_F_MMAPABLE;
  return base::UniqueFd(
      static_cast<int>(::syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes)));
}

// Writes 1 + the processor into the page, and accepts the datagram whole.
std::array<base::EbpfInstruction, 7> program_with(int page_fd) {
  return {{
      {.code = BPF_JMP | BPF_CALL,
       .dst_reg = 0,
       .src_reg = 0,
       .off = 0,
       .imm = BPF_FUNC_get_smp_processor_id},
      {.code = BPF_ALU | BPF_ADD, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 1},
      {.code = BPF_LD | BPF_DW,  // of an immediate value
       .dst_reg = BPF_REG_1,
       .src_reg = BPF_PSEUDO_MAP_VALUE,
       .off = 0,
       .imm = page_fd},
      {.code = 0, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},  // the offset in the value
      {.code = BPF_STX | BPF_MEM | BPF_W,
       .dst_reg = BPF_REG_1,
       .src_reg = BPF_REG_0,
       .off = 0,
       .imm = 0},
      {.code = BPF_ALU | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = -1},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
  }};
}

}  // namespace

void IncomingCpu::Unmap::operator()(const std::uint32_t* page) const {
  ::munmap(const_cast<std::uint32_t*>(page), kPageBytes);
}

std::optional<IncomingCpu> IncomingCpu::of(int socket_fd) {
  const base::UniqueFd page_fd = make_page();
  if (!page_fd.valid()) return std::nullopt;
  void* page = ::mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, page_fd.get(), 0);
  if (page == MAP_FAILED) return std::nullopt;
  IncomingCpu made(static_cast<const std::uint32_t*>(page));
  const auto program = base::load_socket_program(program_with(page_fd.get()));
  if (!program) return std::nullopt;
  const int program_fd = program->get();
  if (::setsockopt(socket_fd, SOL_SOCKET, SO_ATTACH_BPF, &program_fd, sizeof program_fd) != 0) {
    return std::nullopt;
  }
  return made;
}

std::optional<unsigned> IncomingCpu::last() const {
  // The kernel writes it with one store, on any processor.
  const std::uint32_t found =
      std::atomic_ref(const_cast<std::uint32_t&>(*page_)).load(std::memory_order_relaxed);
  return found == 0 ? std::nullopt : std::optional(found - 1);
}

}  // namespace splitnic::fabric
