#include "lan_bridge/ports/fabric_filter.h"

#include <arpa/inet.h>

#include <array>

#include "base/bytes.h"
#include "base/endian.h"

namespace splitnic::lan {
namespace {

constexpr std::uint32_t kAcceptAll = 0x7FFFFFFF;
constexpr std::uint8_t kToEnd =
    255;  // a jump to the end of the block, until append_to() knows the distance

std::uint32_t word(const std::byte* at) { return base::load_be<std::uint32_t>(at); }

// The filter code of one endpoint and IP version: tests that jump to the end of the block if they
// fail, then "reject".
class Block {
 public:
  void load(std::uint16_t size, std::uint32_t offset) { add(BPF_LD | BPF_ABS | size, offset); }
  void require_equal(std::uint32_t value) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, kToEnd); }
  void require_no_bits(std::uint32_t bits) { add(BPF_JMP | BPF_JSET | BPF_K, bits, kToEnd, 0); }
  void require_words(base::Bytes bytes, std::uint32_t offset) {
    for (std::uint32_t i = 0; i < bytes.size(); i += 4) {
      load(BPF_W, offset + i);
      require_equal(word(bytes.data() + i));
    }
  }
  void require_mac(const MacAddress& mac) {
    std::array<std::byte, 8> bytes{};
    for (std::size_t i = 0; i < mac.size(); ++i) bytes[i] = std::byte{mac[i]};
    load(BPF_W, 0);
    require_equal(word(bytes.data()));
    load(BPF_H, 4);
    require_equal(word(bytes.data() + 4) >> 16);
  }
  // UDP over a version of IP, which has the number of its protocol at this offset.
  void require_udp(std::uint32_t ethertype, std::uint32_t protocol_offset) {
    load(BPF_H, kEthertypeOffset);
    require_equal(ethertype);
    load(BPF_B, protocol_offset);
    require_equal(kProtocolUdp);
  }
  // An empty `address` means any address of this machine: the NIC's MAC is compared instead.
  void require_destination(base::Bytes address, std::uint32_t offset, const MacAddress& nic) {
    if (address.empty()) return require_mac(nic);
    require_words(address, offset);
  }
  void add(int code, std::uint32_t k, std::uint8_t on_true = 0, std::uint8_t on_false = 0) {
    code_.push_back({static_cast<std::uint16_t>(code), on_true, on_false, k});
  }
  void append_to(std::vector<sock_filter>& program) {
    add(BPF_RET | BPF_K, 0);
    for (std::size_t i = 0; i < code_.size(); ++i) {
      const auto distance = static_cast<std::uint8_t>(code_.size() - i - 1);
      if (code_[i].jt == kToEnd) code_[i].jt = distance;
      if (code_[i].jf == kToEnd) code_[i].jf = distance;
      program.push_back(code_[i]);
    }
  }

 private:
  std::vector<sock_filter> code_;
};

void exclude_ip4(base::Bytes address, std::uint16_t port, const MacAddress& nic,
                 std::vector<sock_filter>& program) {
  Block block;
  block.require_udp(kEthertypeIp4, 23);
  block.load(BPF_H, 20);
  block.require_no_bits(0x1FFF);  // only the first fragment has ports
  block.require_destination(address, 30, nic);
  block.add(BPF_LDX | BPF_B | BPF_MSH, 14);
  block.add(BPF_LD | BPF_H | BPF_IND, 16);
  block.require_equal(port);
  block.append_to(program);
}

void exclude_ip6(base::Bytes address, std::uint16_t port, const MacAddress& nic,
                 std::vector<sock_filter>& program) {
  Block block;
  block.require_udp(kEthertypeIp6, 20);
  block.require_destination(address, 38, nic);
  block.load(BPF_H, 56);
  block.require_equal(port);
  block.append_to(program);
}

std::string without_zone(const std::string& address) {
  const bool is_ip6 = address.find(':') != std::string::npos;
  return is_ip6 ? address.substr(0, address.find('%')) : address;
}

}  // namespace

base::Result<std::vector<sock_filter>> exclude_fabric(const std::vector<FabricEndpoint>& endpoints,
                                                      const MacAddress& nic) {
  std::vector<sock_filter> program;
  for (const FabricEndpoint& endpoint : endpoints) {
    const std::string text = without_zone(endpoint.address);
    std::array<std::byte, 16> address{};
    if (text.empty() || text == "0.0.0.0" || text == "::") {
      exclude_ip4({}, endpoint.udp_port, nic, program);
      exclude_ip6({}, endpoint.udp_port, nic, program);
    } else if (::inet_pton(AF_INET, text.c_str(), address.data()) == 1) {
      exclude_ip4(base::Bytes(address).first(4), endpoint.udp_port, nic, program);
    } else if (::inet_pton(AF_INET6, text.c_str(), address.data()) == 1) {
      exclude_ip6(address, endpoint.udp_port, nic, program);
    } else {
      return base::Error("\"" + endpoint.address + "\" is not an IP address");
    }
  }
  program.push_back({BPF_RET | BPF_K, 0, 0, kAcceptAll});
  return program;
}

}  // namespace splitnic::lan
