#include "lan_bridge/frame/ethernet.h"

#include "base/endian.h"

namespace splitnic::lan {
namespace {

constexpr std::size_t kIp4HeaderBytes = 20;
constexpr std::size_t kIp6HeaderBytes = 40;
constexpr std::size_t kTcpHeaderBytes = 20;
constexpr std::size_t kUdpHeaderBytes = 8;
constexpr int kExtensionHeadersMax = 8;

std::uint8_t byte(base::Bytes frame, std::size_t at) {
  return std::to_integer<std::uint8_t>(frame[at]);
}
std::uint16_t word16(base::Bytes frame, std::size_t at) {
  return base::load_be<std::uint16_t>(frame.data() + at);
}

void parse_l4(base::Bytes frame, std::uint8_t protocol, std::size_t at, FrameLayout& out) {
  if (out.fragment) return;
  const std::size_t left = out.end - at;
  if (protocol == kProtocolTcp && left >= kTcpHeaderBytes) {
    const std::size_t header = static_cast<std::size_t>(byte(frame, at + 12) >> 4) * 4;
    if (header < kTcpHeaderBytes || header > left) return;
    out.l4 = L4::kTcp;
    out.payload_offset = at + header;
  } else if (protocol == kProtocolUdp && left >= kUdpHeaderBytes) {
    out.l4 = L4::kUdp;
    out.payload_offset = at + kUdpHeaderBytes;
  } else if (protocol == kProtocolSctp && left >= 12) {
    out.l4 = L4::kSctp;
  } else {
    return;
  }
  out.l4_offset = at;
}

void parse_ip4(base::Bytes frame, FrameLayout& out) {
  const std::size_t at = out.l3_offset;
  if (frame.size() - at < kIp4HeaderBytes || (byte(frame, at) >> 4) != 4) return;
  const std::size_t header = static_cast<std::size_t>(byte(frame, at) & 0xFU) * 4;
  const std::size_t total = word16(frame, at + 2);
  if (header < kIp4HeaderBytes || header > frame.size() - at) return;
  // 0: too long for the field (BIG TCP): the length of the frame counts.
  if (total != 0 && (total < header || total > frame.size() - at)) return;
  out.l3 = L3::kIp4;
  out.end = total == 0 ? frame.size() : at + total;
  out.fragment = (word16(frame, at + 6) & 0x3FFFU) != 0;
  out.destination_offset = at + 16;
  parse_l4(frame, byte(frame, at + 9), at + header, out);
}

// The pseudo-header contains the last destination of a routing header with segments left (RFC 8200
// section 8.1).
void note_routing_header(base::Bytes frame, std::size_t at, std::size_t bytes, FrameLayout& out) {
  if (byte(frame, at + 3) == 0 || bytes < 24) return;
  const bool is_segment_routing = byte(frame, at + 2) == 4;  // its list is stored last first
  out.destination_offset = is_segment_routing ? at + 8 : at + 8 + (bytes - 8) / 16 * 16 - 16;
}

void parse_ip6(base::Bytes frame, FrameLayout& out) {
  std::size_t at = out.l3_offset;
  if (frame.size() - at < kIp6HeaderBytes || (byte(frame, at) >> 4) != 6) return;
  const std::size_t length = word16(frame, at + 4);
  if (length > frame.size() - at - kIp6HeaderBytes) return;
  out.l3 = L3::kIp6;
  out.end = length == 0 ? frame.size() : at + kIp6HeaderBytes + length;
  out.destination_offset = at + 24;
  std::uint8_t next = byte(frame, at + 6);
  at += kIp6HeaderBytes;
  for (int i = 0; i < kExtensionHeadersMax; ++i) {
    const bool is_fragment = next == 44;
    if (!is_fragment && next != 0 && next != 43 && next != 51 && next != 60) break;
    if (out.end - at < 8) return;
    const std::size_t units = byte(frame, at + 1);
    const std::size_t bytes = is_fragment ? 8 : next == 51 ? (units + 2) * 4 : (units + 1) * 8;
    if (bytes > out.end - at) return;
    if (is_fragment) out.fragment = (word16(frame, at + 2) & 0xFFF9U) != 0;
    if (next == 43) note_routing_header(frame, at, bytes, out);
    next = byte(frame, at);
    at += bytes;
    if (out.fragment) return;
  }
  parse_l4(frame, next, at, out);
}

}  // namespace

std::optional<FrameLayout> parse_frame(base::Bytes frame) {
  if (frame.size() < kEthernetBytes) return std::nullopt;
  FrameLayout out;
  std::size_t at = kEthertypeOffset;
  out.ethertype = word16(frame, at);
  while (out.tags < 2 &&
         (out.ethertype == kEthertypeVlan || out.ethertype == kEthertypeServiceVlan)) {
    if (frame.size() < at + 2 + kVlanTagBytes) return std::nullopt;
    if (out.tags++ == 0) out.tci = word16(frame, at + 2);
    at += kVlanTagBytes;
    out.ethertype = word16(frame, at);
  }
  out.l3_offset = at + 2;
  out.end = frame.size();
  if (out.ethertype == kEthertypeIp4) parse_ip4(frame, out);
  if (out.ethertype == kEthertypeIp6) parse_ip6(frame, out);
  return out;
}

}  // namespace splitnic::lan
