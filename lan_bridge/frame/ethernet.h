// Finds the headers of an Ethernet frame: tags, IPv4 or IPv6 with its extension headers, TCP or
// UDP. Offsets count from the first byte of the Ethernet header. Nothing outside the frame is read,
// whatever its length fields contain; a header that does not parse is kOther, not an error.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace splitnic::lan {

using MacAddress = std::array<std::uint8_t, 6>;

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kVlanTagBytes = 4;
inline constexpr std::size_t kEthertypeOffset = 12;
inline constexpr std::uint16_t kEthertypeIp4 = 0x0800;
inline constexpr std::uint16_t kEthertypeIp6 = 0x86DD;
inline constexpr std::uint16_t kEthertypeVlan = 0x8100;
inline constexpr std::uint16_t kEthertypeServiceVlan = 0x88A8;
inline constexpr std::uint8_t kProtocolTcp = 6;
inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::uint8_t kProtocolSctp = 132;
inline constexpr std::size_t kTcpChecksumOffset = 16;
inline constexpr std::size_t kUdpChecksumOffset = 6;

enum class L3 : std::uint8_t { kOther, kIp4, kIp6 };
enum class L4 : std::uint8_t { kOther, kTcp, kUdp, kSctp };

struct FrameLayout {
  std::uint16_t ethertype = 0;  // after the tags
  std::uint8_t tags = 0;        // 0..2, in band
  std::uint16_t tci = 0;        // of the outer tag
  L3 l3 = L3::kOther;
  L4 l4 = L4::kOther;  // kOther in a fragment
  bool fragment = false;
  std::size_t l3_offset = 0;
  std::size_t l4_offset = 0;           // 0 unless l4 is known
  std::size_t payload_offset = 0;      // after the L4 header; 0 unless l4 is TCP or UDP
  std::size_t destination_offset = 0;  // the address in the pseudo-header (IPv6 routing header)
  std::size_t end = 0;                 // end of the IP datagram; the rest is padding

  // Returns the length of the longest frame with these headers on a LAN of this MTU.
  std::size_t frame_bytes_max(std::uint32_t mtu) const {
    return mtu + kEthernetBytes + kVlanTagBytes * tags;
  }
};

// Returns nullopt if the frame is shorter than its Ethernet header with tags.
std::optional<FrameLayout> parse_frame(base::Bytes frame);

// REQUIRES frame.size() >= kEthernetBytes.
inline MacAddress mac_at(base::Bytes frame, std::size_t offset) {
  MacAddress mac;
  std::transform(frame.begin() + static_cast<std::ptrdiff_t>(offset),
                 frame.begin() + static_cast<std::ptrdiff_t>(offset + mac.size()), mac.begin(),
                 [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
  return mac;
}
inline MacAddress destination_mac(base::Bytes frame) { return mac_at(frame, 0); }
inline MacAddress source_mac(base::Bytes frame) { return mac_at(frame, 6); }
inline bool is_multicast(const MacAddress& mac) { return (mac[0] & 1U) != 0; }
inline bool is_broadcast(const MacAddress& mac) {
  return std::all_of(mac.begin(), mac.end(), [](std::uint8_t b) { return b == 0xFF; });
}

}  // namespace splitnic::lan
