#include "lan_bridge/frame/vnet_header.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "base/endian.h"
#include "lan_bridge/frame/offload.h"

namespace splitnic::lan {
namespace {

struct VnetHeaderWire {
  std::uint8_t flags;
  std::uint8_t gso_type;
  base::Le16 hdr_len;
  base::Le16 gso_size;
  base::Le16 csum_start;
  base::Le16 csum_offset;
  base::Le16 reserved;
};
static_assert(sizeof(VnetHeaderWire) == VnetHeader::kBytes && alignof(VnetHeaderWire) == 1);
static_assert(offsetof(VnetHeaderWire, gso_size) == 4 &&
              offsetof(VnetHeaderWire, csum_offset) == 8);

// The tag of a PVID moves an offset by its length, in 16 bits. [L-12]
constexpr std::size_t kOffsetMax = UINT16_MAX - kVlanTagBytes;
// Behind Ethernet and the shortest header of IP. A checksum is stored after addresses and VLAN of a
// frame were compared with the rights of its host, so it must not lie in them.
constexpr std::size_t kChecksumStartMin = kEthernetBytes + 20;

// Checks that the frame has the headers that gso_type names, and that its checksum lies where they
// put it.
bool headers_match(const VnetHeader& header, const FrameLayout& layout) {
  const bool is_udp = header.gso() == GsoType::kUdp;
  if (layout.l4 != (is_udp ? L4::kUdp : L4::kTcp)) return false;
  if (header.gso() == GsoType::kTcp4 && layout.l3 != L3::kIp4) return false;
  if (header.gso() == GsoType::kTcp6 && layout.l3 != L3::kIp6) return false;
  return header.csum_start == layout.l4_offset &&
         header.csum_offset == (is_udp ? kUdpChecksumOffset : kTcpChecksumOffset);
}

VnetVerdict check_gso(base::Bytes ethernet, const VnetHeader& in, std::uint32_t mtu,
                      VnetHeader& out) {
  const auto layout = parse_frame(ethernet);
  if (!layout || !in.needs_checksum() || !headers_match(in, *layout)) return VnetVerdict::kHeaders;
  // Bytes after the datagram would become payload of the last segment.
  if (layout->end != ethernet.size() || layout->payload_offset > kOffsetMax) {
    return VnetVerdict::kHeaders;
  }
  const std::size_t payload_bytes = ethernet.size() - layout->payload_offset;
  if (!has_legal_segments(in, payload_bytes) ||
      layout->payload_offset + in.gso_size > layout->frame_bytes_max(mtu)) {
    return VnetVerdict::kGsoSize;
  }
  if (payload_bytes <= in.gso_size) return VnetVerdict::kGood;  // one segment
  out.gso_type = in.gso_type;
  out.gso_size = in.gso_size;
  out.hdr_len = static_cast<std::uint16_t>(layout->payload_offset);
  return VnetVerdict::kGood;
}

}  // namespace

VnetHeader VnetHeader::parse(base::Bytes in) {
  CHECK(in.size() >= kBytes);
  VnetHeaderWire wire;
  std::memcpy(&wire, in.data(), sizeof wire);
  return {wire.flags,          wire.gso_type,         wire.hdr_len.get(),
          wire.gso_size.get(), wire.csum_start.get(), wire.csum_offset.get()};
}

void VnetHeader::emit(base::MutableBytes out) const {
  CHECK(out.size() >= kBytes);
  const VnetHeaderWire wire{flags,
                            gso_type,
                            base::Le16(hdr_len),
                            base::Le16(gso_size),
                            base::Le16(csum_start),
                            base::Le16(csum_offset),
                            base::Le16(0)};
  std::memcpy(out.data(), &wire, sizeof wire);
}

std::string_view name(VnetVerdict verdict) {
  static constexpr std::array<std::string_view, 7> kNames{
      "good", "short", "too_long", "not_granted", "checksum_range", "headers", "gso_size"};
  static_assert(kNames.size() == static_cast<std::size_t>(VnetVerdict::kCount_));
  const auto index = static_cast<std::size_t>(verdict);
  return index < kNames.size() ? kNames[index] : "?";
}

std::uint32_t offloads_used(const VnetHeader& header) {
  std::uint32_t used = header.needs_checksum() ? kOffloadChecksum : 0U;
  switch (header.gso()) {
    case GsoType::kNone:
      return used;
    case GsoType::kTcp4:
      return used | kOffloadTso4;
    case GsoType::kTcp6:
      return used | kOffloadTso6;
    case GsoType::kUdp:
      return used | kOffloadUso;
    case GsoType::kUdpFragment:
      break;
  }
  return used | (1U << 31);  // never granted
}

VnetVerdict rebuild(base::MutableBytes frame, std::uint32_t offloads_granted, std::uint32_t mtu) {
  if (frame.size() < VnetHeader::kBytes + kEthernetBytes) return VnetVerdict::kShort;
  if (frame.size() > kFrameBytesMax) return VnetVerdict::kTooLong;
  const VnetHeader in = VnetHeader::parse(frame);
  const base::Bytes ethernet = frame.subspan(VnetHeader::kBytes);
  const bool is_tcp = in.gso() == GsoType::kTcp4 || in.gso() == GsoType::kTcp6;
  if ((offloads_used(in) & ~offloads_granted) != 0) return VnetVerdict::kNotGranted;
  if ((in.gso_type & VnetHeader::kEcn) != 0 && !is_tcp) return VnetVerdict::kNotGranted;
  VnetHeader out;
  if (in.needs_checksum()) {
    const std::size_t field = std::size_t{in.csum_start} + in.csum_offset;
    if (in.csum_start < kChecksumStartMin || in.csum_start > kOffsetMax ||
        field + 2 > ethernet.size()) {
      return VnetVerdict::kChecksumRange;
    }
    out.flags = VnetHeader::kNeedsChecksum;
    out.csum_start = in.csum_start;
    out.csum_offset = in.csum_offset;
  }
  if (in.gso() != GsoType::kNone) {
    const VnetVerdict verdict = check_gso(ethernet, in, mtu, out);
    if (verdict != VnetVerdict::kGood) return verdict;
  }
  out.emit(frame);
  return VnetVerdict::kGood;
}

}  // namespace splitnic::lan
