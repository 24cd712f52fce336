// The number of bytes of the wire that a frame takes: what a host is charged for it, whatever it
// looks like in memory. A super-frame is charged for each segment with its own headers. [H-3]
// docs/security.md
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/bytes.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/segment.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {

inline constexpr std::size_t kWireGapBytes = 24;       // preamble, FCS and gap of each frame
inline constexpr std::size_t kWireFrameBytesMin = 60;  // without FCS

struct WireCost {
  std::size_t frames = 1;
  std::size_t bytes = kWireFrameBytesMin + kWireGapBytes;  // of all of them
  friend bool operator==(const WireCost&, const WireCost&) = default;
};

// `frame` is [vnet header][Ethernet frame] from a peer, before or after rebuild(): its header is
// not trusted. The result is bounded whatever it holds, and right if rebuild() finds it good.
inline WireCost wire_cost(base::Bytes frame) {
  if (frame.size() < VnetHeader::kBytes + kEthernetBytes) return {};
  const VnetHeader header = VnetHeader::parse(frame);
  const base::Bytes ethernet = frame.subspan(VnetHeader::kBytes);
  if (header.gso() == GsoType::kNone || header.gso_size == 0) {
    return {1, std::max(ethernet.size(), kWireFrameBytesMin) + kWireGapBytes};
  }
  constexpr std::size_t kTcpLengthAt = 12;  // its upper four bits: words
  std::size_t l4_bytes = 8;
  if (header.gso() != GsoType::kUdp && header.csum_start + kTcpLengthAt < ethernet.size()) {
    const std::byte length = ethernet[header.csum_start + kTcpLengthAt];
    l4_bytes = std::to_integer<std::size_t>(length >> 4) * 4;
  }
  const std::size_t head = std::min(
      {header.csum_start + l4_bytes, ethernet.size(), Piece::kHeadBytesMax - VnetHeader::kBytes});
  const std::size_t payload = ethernet.size() - head;
  const std::size_t segments =
      std::clamp<std::size_t>(segments_of(header, payload), 1, kSegmentsMax);
  return {segments, payload + segments * (head + kWireGapBytes)};
}

inline std::size_t wire_bytes(base::Bytes frame) { return wire_cost(frame).bytes; }

}  // namespace splitnic::lan
