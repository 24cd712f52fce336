// The 12 bytes before every frame, as in virtio 1.x, little endian: flags(8) gso_type(8)
// hdr_len(16) gso_size(16) csum_start(16) csum_offset(16) reserved(16).
// docs/nic_service.md#init_nic
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/mtu.h"

namespace splitnic::lan {

enum class GsoType : std::uint8_t { kNone = 0, kTcp4 = 1, kUdpFragment = 3, kTcp6 = 4, kUdp = 5 };

struct VnetHeader {
  static constexpr std::size_t kBytes = 12;
  static constexpr std::uint8_t kNeedsChecksum = 1;  // flags
  static constexpr std::uint8_t kEcn = 0x80;  // gso_type: the first segment alone carries CWR

  std::uint8_t flags = 0;
  std::uint8_t gso_type = 0;
  std::uint16_t hdr_len = 0;
  std::uint16_t gso_size = 0;
  std::uint16_t csum_start = 0;
  std::uint16_t csum_offset = 0;

  constexpr GsoType gso() const { return static_cast<GsoType>(gso_type & ~kEcn); }
  bool needs_checksum() const { return (flags & kNeedsChecksum) != 0; }

  // REQUIRES in.size() >= kBytes. The reserved word is ignored.
  static VnetHeader parse(base::Bytes in);
  // REQUIRES out.size() >= kBytes. The reserved word is 0.
  void emit(base::MutableBytes out) const;
  friend bool operator==(const VnetHeader&, const VnetHeader&) = default;
};

// The virtio-net header that precedes every Ethernet frame, also in a pool element.
// docs/nic_service.md#init_nic
inline constexpr std::size_t kVnetHeaderBytes = VnetHeader::kBytes;
// The longest frame: 64 KiB of IP, Ethernet header, two tags and the vnet header.
inline constexpr std::size_t kFrameBytesMax =
    kVnetHeaderBytes + kLanMtuMax + kEthernetBytes + 2 * kVlanTagBytes;

// Bounds of the segments of a super-frame: each costs its own headers, checksum and gap, so a frame
// of many short ones would keep thread and wire busy for long. Linux sends no shorter TCP segments
// (tcp_min_snd_mss). [H-3]
inline constexpr std::size_t kTcpSegmentBytesMin = 48;
inline constexpr std::size_t kSegmentsMax = 512;

// Returns the number of segments that this many payload bytes make. REQUIRES gso_size > 0.
constexpr std::size_t segments_of(const VnetHeader& header, std::size_t payload_bytes) {
  return (payload_bytes + header.gso_size - 1) / header.gso_size;
}
// Returns whether a super-frame with this much payload keeps within the bounds.
constexpr bool has_legal_segments(const VnetHeader& header, std::size_t payload_bytes) {
  const bool is_udp = header.gso() == GsoType::kUdp;
  return header.gso_size >= (is_udp ? 1 : kTcpSegmentBytesMin) &&
         segments_of(header, payload_bytes) <= kSegmentsMax;
}

// The result of rebuild(): kGood, or the reason to drop the frame.
enum class VnetVerdict : std::uint8_t {
  kGood,
  kShort,          // no room for both headers
  kTooLong,        // longer than any frame: kFrameBytesMax
  kNotGranted,     // an offload that was not granted
  kChecksumRange,  // csum_start and csum_offset leave the frame, or are in front of IP's payload
  kHeaders,        // the headers are not those of the super-frame that gso_type claims
  kGsoSize,        // segments are too short, too many, or would exceed the MTU
  kCount_
};
std::string_view name(VnetVerdict verdict);

// Returns the offload bits that a frame with this header uses.
std::uint32_t offloads_used(const VnetHeader& header);

// Validates the vnet header of `frame` ([vnet header][Ethernet frame]), which a peer wrote, and
// rewrites it: of the flags only NEEDS_CSUM stays, and hdr_len is computed from the headers. A VLAN
// tag that is inserted later fits: no offset can wrap. Unless the verdict is kGood the frame is
// unchanged and has to be dropped.
VnetVerdict rebuild(base::MutableBytes frame, std::uint32_t offloads_granted, std::uint32_t mtu);

}  // namespace splitnic::lan
