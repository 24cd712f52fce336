#include "lan_bridge/ports/flow_program.h"

#include <array>
#include <cstddef>
#include <utility>

#include "lan_bridge/frame/ethernet.h"

namespace splitnic::lan {
namespace {

constexpr std::uint32_t kFragmentBits = 0x3FFF;  // more fragments, or an offset
constexpr std::uint32_t kSpread = 0x9E3779B1;    // odd: no two values have the same product

enum Scratch : std::uint32_t { kHash, kPort, kSum };
enum Label : std::size_t { kIp4, kIp4Ports, kIp6, kIp6Ports, kPorts, kMacs, kMix, kCpu, kLabels };

// A program with labels: every jump goes forward.
class Assembler {
 public:
  void add(int code, std::uint32_t k = 0) {
    code_.push_back({static_cast<std::uint16_t>(code), 0, 0, k});
  }
  void load(int size, std::uint32_t offset) { add(BPF_LD | BPF_ABS | size, offset); }
  // Adds the word at `offset` to A.
  void add_word(std::uint32_t offset) {
    add(BPF_MISC | BPF_TAX);
    load(BPF_W, offset);
    add(BPF_ALU | BPF_ADD | BPF_X);
  }
  void jump_if_equal(std::uint32_t value, Label label) {
    jumps_.push_back({code_.size(), label});
    add(BPF_JMP | BPF_JEQ | BPF_K, value);
  }
  void jump_if_any(std::uint32_t bits, Label label) {
    jumps_.push_back({code_.size(), label});
    add(BPF_JMP | BPF_JSET | BPF_K, bits);
  }
  void jump(Label label) {
    jumps_.push_back({code_.size(), label});
    add(BPF_JMP | BPF_JA);
  }
  void place(Label label) { labels_[label] = code_.size(); }
  std::vector<sock_filter> finish() {
    for (const auto& [from, label] : jumps_) {
      sock_filter& step = code_[from];
      const std::size_t distance = labels_[label] - from - 1;
      if (step.code == (BPF_JMP | BPF_JA)) {
        step.k = static_cast<std::uint32_t>(distance);
      } else {
        step.jt = static_cast<std::uint8_t>(distance);
      }
    }
    return std::move(code_);
  }

 private:
  struct Jump {
    std::size_t from;
    Label label;
  };
  std::vector<sock_filter> code_;
  std::vector<Jump> jumps_;
  std::array<std::size_t, kLabels> labels_{};
};

void hash_ip4(Assembler& code) {
  code.place(kIp4);
  code.load(BPF_W, 12);
  code.add_word(16);
  code.add(BPF_ST, kHash);
  code.load(BPF_H, 6);
  code.jump_if_any(kFragmentBits, kMix);
  code.load(BPF_B, 9);
  code.jump_if_equal(kProtocolTcp, kIp4Ports);
  code.jump(kMix);
  code.place(kIp4Ports);
  code.add(BPF_LDX | BPF_B | BPF_MSH, 0);
  code.add(BPF_LD | BPF_H | BPF_IND, 0);
  code.add(BPF_ST, kPort);
  code.add(BPF_LD | BPF_H | BPF_IND, 2);
  code.jump(kPorts);
}

void hash_ip6(Assembler& code) {
  code.place(kIp6);
  code.load(BPF_W, 8);
  for (std::uint32_t offset = 12; offset < 40; offset += 4) code.add_word(offset);
  code.add(BPF_ST, kHash);
  code.load(BPF_B, 6);
  code.jump_if_equal(kProtocolTcp, kIp6Ports);
  code.jump(kMix);  // behind extension headers, one of which may be of a fragment
  code.place(kIp6Ports);
  code.load(BPF_H, 40);
  code.add(BPF_ST, kPort);
  code.load(BPF_H, 42);
}

// Adds the ports, in kPort and A, to the hash: by their product and their sum, which are the same
// for both directions, and for no other two ports.
void hash_ports(Assembler& code) {
  code.place(kPorts);
  code.add(BPF_MISC | BPF_TAX);
  code.add(BPF_LD | BPF_MEM, kPort);
  code.add(BPF_ALU | BPF_ADD | BPF_X);
  code.add(BPF_ST, kSum);
  code.add(BPF_LD | BPF_MEM, kPort);
  code.add(BPF_ALU | BPF_MUL | BPF_X);
  code.add(BPF_ALU | BPF_MUL | BPF_K, kSpread);
  code.add(BPF_LDX | BPF_MEM, kSum);
  code.add(BPF_ALU | BPF_ADD | BPF_X);
  code.add(BPF_LDX | BPF_MEM, kHash);
  code.add(BPF_ALU | BPF_ADD | BPF_X);
  code.add(BPF_ST, kHash);
  code.jump(kMix);
}

void hash_macs(Assembler& code) {
  code.place(kMacs);
  code.load(BPF_W, kFromMac + 2);
  code.add_word(kFromMac + 8);
  code.add(BPF_ST, kHash);
}

// The finaliser of MurmurHash3: every bit of the hash changes the low bits of the result.
void return_mixed(Assembler& code) {
  const auto fold = [&code](std::uint32_t bits) {
    code.add(BPF_MISC | BPF_TAX);
    code.add(BPF_ALU | BPF_RSH | BPF_K, bits);
    code.add(BPF_ALU | BPF_XOR | BPF_X);
  };
  code.place(kMix);
  code.add(BPF_LD | BPF_MEM, kHash);
  fold(16);
  code.add(BPF_ALU | BPF_MUL | BPF_K, 0x85EBCA6B);
  fold(13);
  code.add(BPF_ALU | BPF_MUL | BPF_K, 0xC2B2AE35);
  fold(16);
  code.add(BPF_RET | BPF_A);
}

}  // namespace

// The data begins at the network header. An absolute offset finds a byte wherever it is; with
// SKF_NET_OFF only the linear part of a frame would be seen, which differs between the frames of a
// flow.
std::vector<sock_filter> flow_program() {
  Assembler code;
  code.load(BPF_W, kFromAncillary + SKF_AD_PROTOCOL);
  code.jump_if_equal(kEthertypeIp4, kIp4);
  code.jump_if_equal(kEthertypeIp6, kIp6);
  code.jump_if_equal(kEthertypeVlan, kMacs);  // the inner tag; the outer one is out of band
  code.jump_if_equal(kEthertypeServiceVlan, kMacs);
  code.jump(kCpu);
  hash_ip4(code);
  hash_ip6(code);
  hash_ports(code);
  hash_macs(code);
  return_mixed(code);
  code.place(kCpu);
  code.load(BPF_W, kFromAncillary + SKF_AD_CPU);
  code.add(BPF_RET | BPF_A);
  return code.finish();
}

}  // namespace splitnic::lan
