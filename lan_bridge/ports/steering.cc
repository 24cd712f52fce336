#include "lan_bridge/ports/steering.h"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdint>

#include "base/check.h"
#include "lan_bridge/ports/flow_program.h"

namespace splitnic::lan {
namespace {

// Registers of the eBPF program. Loads from the frame leave those from r6 on as they are.
enum Register : std::uint8_t {
  kA = BPF_REG_0,
  kFrame = BPF_REG_6,  // where the kernel's loads look for it
  kX = BPF_REG_7,
  kSaved = BPF_REG_8,
  kStack = BPF_REG_10,
};

constexpr std::int32_t kEthertypeOffset = 2 * ETH_ALEN;

class Translator {
 public:
  std::vector<base::EbpfInstruction> run(std::span<const sock_filter> classic) {
    begin();
    for (const sock_filter& step : classic) {
      starts_.push_back(out_.size());
      add(step);
    }
    for (const Jump& jump : jumps_) {
      out_[jump.from].off = static_cast<std::int16_t>(starts_[jump.to] - jump.from - 1);
    }
    return std::move(out_);
  }

 private:
  struct Jump {
    std::size_t from;  // index in out_
    std::size_t to;    // index in the classic program
  };

  void emit(int code, std::uint8_t to, std::uint8_t from = 0, std::int16_t offset = 0,
            std::int32_t value = 0) {
    base::EbpfInstruction step{};
    step.code = static_cast<std::uint8_t>(code);
    step.dst_reg = to & 0xF;
    step.src_reg = from & 0xF;
    step.off = offset;
    step.imm = value;
    out_.push_back(step);
  }
  void move(std::uint8_t to, std::uint8_t from) { emit(BPF_ALU | BPF_MOV | BPF_X, to, from); }
  void clear(std::uint8_t to) { emit(BPF_ALU | BPF_MOV | BPF_K, to); }
  void load(int mode_and_size, std::int32_t offset, std::uint8_t from = 0) {
    emit(BPF_LD | mode_and_size, 0, from, 0, offset);
  }

  // The kernel wants everything to be written before it is read.
  void begin() {
    emit(BPF_ALU64 | BPF_MOV | BPF_X, kFrame, BPF_REG_1);
    clear(kA);
    clear(kX);
    for (std::uint32_t i = 0; i < BPF_MEMWORDS; ++i) {
      emit(BPF_ST | BPF_MEM | BPF_W, kStack, 0, slot(i));
    }
  }
  static std::int16_t slot(std::uint32_t index) {
    return static_cast<std::int16_t>(-4 * (static_cast<int>(index) + 1));
  }

  void add(const sock_filter& step) {
    const auto value = static_cast<std::int32_t>(step.k);
    switch (BPF_CLASS(step.code)) {
      case BPF_LD:
        if (BPF_MODE(step.code) == BPF_MEM) {
          emit(BPF_LDX | BPF_MEM | BPF_W, kA, kStack, slot(step.k));
        } else if (BPF_MODE(step.code) == BPF_IND) {
          load(BPF_IND | BPF_SIZE(step.code), value + ETH_HLEN, kX);
        } else {
          load_absolute(BPF_SIZE(step.code), step.k);
        }
        return;
      case BPF_LDX:
        if (BPF_MODE(step.code) == BPF_MEM) {
          emit(BPF_LDX | BPF_MEM | BPF_W, kX, kStack, slot(step.k));
        } else {
          load_header_bytes(value);
        }
        return;
      case BPF_ST:
        emit(BPF_STX | BPF_MEM | BPF_W, kStack, kA, slot(step.k));
        return;
      case BPF_ALU:
        emit(step.code, kA, kX, 0, value);
        if (BPF_SRC(step.code) == BPF_K) out_.back().src_reg = 0;
        return;
      case BPF_JMP:
        CHECK(step.jf == 0);
        jumps_.push_back({out_.size(), starts_.size() + target_of(step)});
        emit(step.code, kA, 0, 0, BPF_OP(step.code) == BPF_JA ? 0 : value);
        if (BPF_OP(step.code) == BPF_JA) out_.back().dst_reg = 0;
        return;
      case BPF_RET:
        emit(BPF_JMP | BPF_EXIT, 0);
        return;
      default:
        move(kX, kA);  // TAX
    }
  }
  static std::size_t target_of(const sock_filter& step) {
    return BPF_OP(step.code) == BPF_JA ? step.k : step.jt;
  }

  void load_absolute(int size, std::uint32_t offset) {
    if (offset == kFromAncillary + SKF_AD_PROTOCOL) {
      load(BPF_ABS | BPF_H, kEthertypeOffset);
    } else if (offset == kFromAncillary + SKF_AD_CPU) {
      emit(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_smp_processor_id);
    } else if (offset >= kFromMac) {
      load(BPF_ABS | size, static_cast<std::int32_t>(offset - kFromMac));
    } else {
      load(BPF_ABS | size, static_cast<std::int32_t>(offset) + ETH_HLEN);
    }
  }
  // X = 4 * the low four bits of a byte: the bytes of an IPv4 header. A stays.
  void load_header_bytes(std::int32_t offset) {
    move(kSaved, kA);
    load(BPF_ABS | BPF_B, offset + ETH_HLEN);
    emit(BPF_ALU | BPF_AND | BPF_K, kA, 0, 0, 0xF);
    emit(BPF_ALU | BPF_LSH | BPF_K, kA, 0, 0, 2);
    move(kX, kA);
    move(kA, kSaved);
  }

  std::vector<base::EbpfInstruction> out_;
  std::vector<std::size_t> starts_;  // in out_, of each classic instruction so far
  std::vector<Jump> jumps_;
};

}  // namespace

std::vector<base::EbpfInstruction> to_ebpf(std::span<const sock_filter> classic) {
  return Translator().run(classic);
}

base::Status steer_by_flow(int tap_fd) {
  const auto program = base::load_socket_program(to_ebpf(flow_program()));
  if (!program) return program.error().within("keeping flows in order");
  int fd = program->get();
  if (::ioctl(tap_fd, TUNSETSTEERINGEBPF, &fd) < 0) {
    return base::Error::from_errno("setting the program that keeps flows in order", errno);
  }
  return {};
}

}  // namespace splitnic::lan
