#include "lan_bridge/frame/checksum.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/endian.h"
#include "base/wide.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {
namespace {

constexpr std::size_t kSctpChecksumOffset = 8;

std::uint16_t to_big_endian(std::uint16_t native) {
  return std::endian::native == std::endian::big ? native : __builtin_bswap16(native);
}

}  // namespace

// The sum depends neither on the byte order nor on the width of the words: it runs over native
// 32-bit words in lanes that the compiler vectorises, and is swapped once at the end.
std::uint16_t sum_bytes(base::Bytes bytes, std::uint32_t seed) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::array<std::uint64_t, 8> lanes{};
  for (; left >= 64; left -= 64, at += 64) {
    std::array<std::uint32_t, 16> w;
    std::memcpy(w.data(), at, sizeof w);
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] += std::uint64_t{w[i]} + w[i + 8];
  }
  base::Wide total = 0;
  for (const std::uint64_t lane : lanes) total += lane;
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t w;
    std::memcpy(&w, at, sizeof w);
    total += w;
  }
  if (left > 0) {
    std::uint64_t w = 0;
    std::memcpy(&w, at, left);
    total += w;
  }
  auto sum = static_cast<std::uint64_t>(total);
  const auto high = static_cast<std::uint64_t>(total >> 64);
  sum += high;
  if (sum < high) ++sum;
  sum = (sum & 0xFFFFFFFFU) + (sum >> 32);
  sum = (sum & 0xFFFFFFFFU) + (sum >> 32);
  const std::uint16_t folded = fold(static_cast<std::uint32_t>(sum));
  return fold(std::uint32_t{to_big_endian(folded)} + fold(seed));
}

std::uint16_t pseudo_header_sum(base::Bytes frame, const FrameLayout& layout,
                                std::size_t l4_bytes) {
  const bool is_ip4 = layout.l3 == L3::kIp4;
  const std::size_t address = is_ip4 ? 4 : 16;
  const std::size_t source = layout.l3_offset + (is_ip4 ? 12U : 8U);
  std::uint32_t sum = layout.l4 == L4::kTcp ? kProtocolTcp : kProtocolUdp;
  sum +=
      static_cast<std::uint32_t>(l4_bytes & 0xFFFFU) + static_cast<std::uint32_t>(l4_bytes >> 16);
  sum = sum_bytes(frame.subspan(source, address), sum);
  return sum_bytes(frame.subspan(layout.destination_offset, address), sum);
}

std::size_t l4_checksum_at(const FrameLayout& layout) {
  return layout.l4_offset + (layout.l4 == L4::kTcp ? kTcpChecksumOffset : kUdpChecksumOffset);
}

bool verify_l4_checksum(base::Bytes frame, const FrameLayout& layout) {
  const std::size_t l4_bytes = layout.end - layout.l4_offset;
  const auto field = base::load_be<std::uint16_t>(frame.data() + l4_checksum_at(layout));
  if (layout.l4 == L4::kUdp && field == 0) return layout.l3 == L3::kIp4;
  return sum_bytes(frame.subspan(layout.l4_offset, l4_bytes),
                   pseudo_header_sum(frame, layout, l4_bytes)) == 0xFFFFU;
}

bool is_partial_checksum(base::Bytes frame, const FrameLayout& layout) {
  const auto field = base::load_be<std::uint16_t>(frame.data() + l4_checksum_at(layout));
  return field == pseudo_header_sum(frame, layout, layout.end - layout.l4_offset) &&
         !verify_l4_checksum(frame, layout);
}

void store_ip4_header_checksum(base::MutableBytes frame, const FrameLayout& layout) {
  std::byte* const header = frame.data() + layout.l3_offset;
  const std::size_t bytes = (std::to_integer<std::size_t>(header[0]) & 0xFU) * 4;
  base::store_be<std::uint16_t>(header + 10, 0);
  const auto sum = static_cast<std::uint16_t>(~sum_bytes(frame.subspan(layout.l3_offset, bytes)));
  base::store_be<std::uint16_t>(header + 10, sum);
}

bool finish_checksum(base::MutableBytes frame) {
  VnetHeader header = VnetHeader::parse(frame);
  if (!header.needs_checksum()) return true;
  const base::MutableBytes ethernet = frame.subspan(VnetHeader::kBytes);
  const std::size_t field = std::size_t{header.csum_start} + header.csum_offset;
  if (field + 2 > ethernet.size()) return false;
  const auto layout = parse_frame(ethernet);
  const std::size_t end =
      layout && layout->l4_offset == header.csum_start ? layout->end : ethernet.size();
  if (layout && layout->l4 == L4::kSctp && layout->l4_offset == header.csum_start &&
      header.csum_offset == kSctpChecksumOffset) {
    std::memset(ethernet.data() + field, 0, 4);
    const std::uint32_t crc =
        base::crc32c(ethernet.subspan(header.csum_start, end - header.csum_start));
    // SCTP stores the CRC least significant byte first (RFC 9260 appendix A).
    base::store_be<std::uint32_t>(ethernet.data() + field, __builtin_bswap32(crc));
  } else {
    // The field contains the pseudo-header's share of the sum.
    auto sum = static_cast<std::uint16_t>(
        ~sum_bytes(ethernet.subspan(header.csum_start, end - header.csum_start)));
    const bool is_udp =
        layout && layout->l4 == L4::kUdp && header.csum_offset == kUdpChecksumOffset;
    if (sum == 0 && is_udp) sum = 0xFFFF;
    base::store_be<std::uint16_t>(ethernet.data() + field, sum);
  }
  header.flags = 0;
  header.csum_start = header.csum_offset = 0;
  header.emit(frame);
  return true;
}

}  // namespace splitnic::lan
