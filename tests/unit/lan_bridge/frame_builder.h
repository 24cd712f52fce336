// Ethernet frames made for tests: TCP or UDP over IPv4 or IPv6, with tags, with or without a vnet
// header.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/endian.h"
#include "base/random.h"
#include "lan_bridge/frame/checksum.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan::frame_builder {

using Bytes = std::vector<std::byte>;

struct Spec {
  bool is_ip6 = false;
  bool is_udp = false;
  std::vector<std::uint16_t> tags = {};  // TCIs, outermost first
  std::size_t payload_bytes = 100;
  std::size_t tcp_option_bytes = 12;  // multiple of 4
  std::uint16_t gso_size = 0;         // 0: no super-frame
  bool is_partial = false;            // checksum left to the receiver
  std::uint8_t tcp_flags = 0x18;      // PSH ACK
  std::uint64_t seed = 1;
  bool has_destination_options = false;  // IPv6 only
  std::uint16_t port = 443;
  MacAddress destination = {0x02, 0, 0, 0, 0, 0x0B};
  MacAddress source = {0x02, 0, 0, 0, 0, 0x0A};
};

inline void put8(Bytes& out, unsigned value) { out.push_back(static_cast<std::byte>(value)); }
inline void put16(Bytes& out, unsigned value) {
  put8(out, value >> 8 & 0xFF);
  put8(out, value & 0xFF);
}
inline void put32(Bytes& out, std::uint32_t value) {
  put16(out, value >> 16);
  put16(out, value & 0xFFFF);
}
inline Bytes from_hex(std::string_view hex) {
  Bytes out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    if (hex[i] == ' ') {
      --i;
      continue;
    }
    put8(out, static_cast<unsigned>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

inline void put_ip(Bytes& out, const Spec& s, std::size_t l4_bytes) {
  const unsigned protocol = s.is_udp ? kProtocolUdp : kProtocolTcp;
  if (s.is_ip6) {
    const std::size_t extension = s.has_destination_options ? 8 : 0;
    put32(out, 0x60000000);
    put16(out, static_cast<unsigned>(l4_bytes + extension));
    put8(out, extension != 0 ? 60 : protocol);
    put8(out, 64);
    for (const unsigned last : {0xAU, 0xBU}) {
      put32(out, 0xFD000000);
      put32(out, 0);
      put32(out, 0);
      put32(out, last);
    }
    if (extension != 0) {
      put8(out, protocol);
      put8(out, 0);
      put16(out, 0x0104);
      put32(out, 0);
    }
    return;
  }
  put16(out, 0x4500);
  put16(out, static_cast<unsigned>(20 + l4_bytes));
  put16(out, 0xFFFE);  // the identification wraps within a super-frame
  put16(out, 0x4000);
  put8(out, 64);
  put8(out, protocol);
  put16(out, 0);
  put32(out, 0x0A00000A);
  put32(out, 0x0A00000B);
}

// Builds [vnet header][Ethernet frame] as specified.
inline Bytes make_frame(const Spec& s) {
  Bytes out(VnetHeader::kBytes);
  for (const auto* mac : {&s.destination, &s.source}) {
    for (const std::uint8_t byte : *mac) put8(out, byte);
  }
  for (std::size_t i = 0; i < s.tags.size(); ++i) {
    put16(out, i == 0 && s.tags.size() == 2 ? kEthertypeServiceVlan : kEthertypeVlan);
    put16(out, s.tags[i]);
  }
  put16(out, s.is_ip6 ? kEthertypeIp6 : kEthertypeIp4);
  const std::size_t header = s.is_udp ? 8 : 20 + s.tcp_option_bytes;
  put_ip(out, s, header + s.payload_bytes);
  put16(out, 40000);
  put16(out, s.port);
  if (s.is_udp) {
    put16(out, static_cast<unsigned>((8 + s.payload_bytes) & 0xFFFF));
    put16(out, 0);
  } else {
    put32(out, 0xFFFFF000);  // wraps within a super-frame
    put32(out, 7);
    put8(out, static_cast<unsigned>((20 + s.tcp_option_bytes) / 4) << 4);
    put8(out, s.tcp_flags);
    put16(out, 512);
    put32(out, 0);
    for (std::size_t i = 0; i < s.tcp_option_bytes; ++i) put8(out, 1);
  }
  base::SeededRandom random(s.seed);
  for (std::size_t i = 0; i < s.payload_bytes; ++i) put8(out, random.next32() & 0xFF);

  const base::MutableBytes all(out);
  const base::MutableBytes ethernet = all.subspan(VnetHeader::kBytes);
  const auto layout = parse_frame(ethernet);
  if (layout->l4 == L4::kOther) return out;
  if (!s.is_ip6) store_ip4_header_checksum(ethernet, *layout);
  const std::size_t l4_bytes = layout->end - layout->l4_offset;
  VnetHeader vnet;
  vnet.flags = VnetHeader::kNeedsChecksum;
  vnet.csum_start = static_cast<std::uint16_t>(layout->l4_offset);
  vnet.csum_offset = s.is_udp ? kUdpChecksumOffset : kTcpChecksumOffset;
  if (s.gso_size != 0) {
    vnet.gso_size = s.gso_size;
    vnet.hdr_len = static_cast<std::uint16_t>(layout->payload_offset);
    vnet.gso_type = static_cast<std::uint8_t>(s.is_udp   ? GsoType::kUdp
                                              : s.is_ip6 ? GsoType::kTcp6
                                                         : GsoType::kTcp4);
  }
  base::store_be<std::uint16_t>(ethernet.data() + l4_checksum_at(*layout),
                                pseudo_header_sum(ethernet, *layout, l4_bytes));
  vnet.emit(all);
  if (!s.is_partial && s.gso_size == 0) finish_checksum(all);
  return out;
}

inline base::Bytes ethernet_of(base::Bytes frame) { return frame.subspan(VnetHeader::kBytes); }
inline base::Bytes payload_of(base::Bytes frame) {
  const auto layout = parse_frame(ethernet_of(frame));
  return ethernet_of(frame).subspan(layout->payload_offset, layout->end - layout->payload_offset);
}
inline bool equal(base::Bytes a, base::Bytes b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace splitnic::lan::frame_builder
