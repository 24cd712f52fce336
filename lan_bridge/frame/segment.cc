#include "lan_bridge/frame/segment.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/endian.h"
#include "lan_bridge/frame/checksum.h"

namespace splitnic::lan {
namespace {

constexpr std::byte kTcpFin{0x01};
constexpr std::byte kTcpPush{0x08};
constexpr std::byte kTcpCongestionWindowReduced{0x80};

}  // namespace

base::MutableBytes Piece::copy_to(base::MutableBytes out) const {
  CHECK(out.size() >= size());
  std::memcpy(out.data(), head_room.data(), head_bytes);
  if (!payload.empty()) std::memcpy(out.data() + head_bytes, payload.data(), payload.size());
  return out.first(size());
}

std::optional<Segmenter> Segmenter::of(base::Bytes frame, Mode mode, std::size_t piece_bytes_max) {
  if (frame.size() < VnetHeader::kBytes + kEthernetBytes) return std::nullopt;
  const VnetHeader header = VnetHeader::parse(frame);
  const auto layout = parse_frame(frame.subspan(VnetHeader::kBytes));
  if (!layout || header.gso_size == 0) return std::nullopt;
  const bool is_udp = header.gso() == GsoType::kUdp;
  if (!is_udp && header.gso() != GsoType::kTcp4 && header.gso() != GsoType::kTcp6)
    return std::nullopt;
  if (layout->l4 != (is_udp ? L4::kUdp : L4::kTcp)) return std::nullopt;
  const std::size_t head = VnetHeader::kBytes + layout->payload_offset;
  if (head > Piece::kHeadBytesMax || layout->end + VnetHeader::kBytes != frame.size() ||
      head == frame.size()) {
    return std::nullopt;
  }
  std::size_t step = header.gso_size;
  if (mode == Mode::kSuper) {
    if (piece_bytes_max < head + step) return std::nullopt;
    step = (piece_bytes_max - head) / step * step;
  }
  return Segmenter(frame, header, *layout, mode, step);
}

bool Segmenter::next(Piece& piece) {
  if (done_ >= payload_bytes()) return false;
  piece.head_bytes = head_bytes();
  piece.payload = frame_.subspan(head_bytes() + done_, std::min(step_, payload_bytes() - done_));
  std::memcpy(piece.head_room.data(), frame_.data(), head_bytes());
  const base::MutableBytes ethernet(piece.head_room.data() + VnetHeader::kBytes,
                                    layout_.payload_offset);
  const std::size_t l4_bytes = layout_.payload_offset - layout_.l4_offset + piece.payload.size();
  adapt_l3(ethernet, l4_bytes);
  adapt_l4(ethernet, piece, l4_bytes);
  emit_vnet(piece);
  done_ += piece.payload.size();
  return true;
}

void Segmenter::move_to(base::Bytes copy) {
  CHECK(copy.size() == frame_.size());
  frame_ = copy;
}

void Segmenter::adapt_l3(base::MutableBytes ethernet, std::size_t l4_bytes) const {
  std::byte* const l3 = ethernet.data() + layout_.l3_offset;
  const std::size_t ip_bytes = layout_.l4_offset - layout_.l3_offset + l4_bytes;
  if (layout_.l3 == L3::kIp6) {
    base::store_be<std::uint16_t>(l3 + 4, static_cast<std::uint16_t>(ip_bytes - 40));
    return;
  }
  base::store_be<std::uint16_t>(l3 + 2, static_cast<std::uint16_t>(ip_bytes));
  // Every segment counts one identification, also those that stay together in one piece.
  const auto id = base::load_be<std::uint16_t>(l3 + 4);
  base::store_be<std::uint16_t>(l3 + 4, static_cast<std::uint16_t>(id + done_ / header_.gso_size));
  store_ip4_header_checksum(ethernet, layout_);
}

void Segmenter::adapt_l4(base::MutableBytes ethernet, const Piece& piece,
                         std::size_t l4_bytes) const {
  std::byte* const l4 = ethernet.data() + layout_.l4_offset;
  const bool is_last = done_ + piece.payload.size() == payload_bytes();
  if (layout_.l4 == L4::kTcp) {
    const auto sequence = base::load_be<std::uint32_t>(l4 + 4);
    base::store_be<std::uint32_t>(l4 + 4, sequence + static_cast<std::uint32_t>(done_));
    if (!is_last) l4[13] &= ~(kTcpFin | kTcpPush);
    if (done_ != 0) l4[13] &= ~kTcpCongestionWindowReduced;
  } else {
    base::store_be<std::uint16_t>(l4 + 4, static_cast<std::uint16_t>(l4_bytes));
  }
  std::byte* const field = ethernet.data() + l4_checksum_at(layout_);
  const std::uint16_t pseudo = pseudo_header_sum(ethernet, layout_, l4_bytes);
  if (mode_ == Mode::kSuper) {
    base::store_be<std::uint16_t>(field, pseudo);
    return;
  }
  base::store_be<std::uint16_t>(field, 0);
  // The L4 header has an even length, so the payload's words stay aligned to it.
  const std::uint16_t headers = sum_bytes(ethernet.subspan(layout_.l4_offset), pseudo);
  auto sum = static_cast<std::uint16_t>(~sum_bytes(piece.payload, headers));
  if (sum == 0 && layout_.l4 == L4::kUdp) sum = 0xFFFF;
  base::store_be<std::uint16_t>(field, sum);
}

void Segmenter::emit_vnet(Piece& piece) const {
  VnetHeader out;
  if (mode_ == Mode::kSuper) {
    out.flags = VnetHeader::kNeedsChecksum;
    out.csum_start = static_cast<std::uint16_t>(layout_.l4_offset);
    out.csum_offset = layout_.l4 == L4::kTcp ? kTcpChecksumOffset : kUdpChecksumOffset;
    if (piece.payload.size() > header_.gso_size) {
      out.hdr_len = static_cast<std::uint16_t>(layout_.payload_offset);
      out.gso_size = header_.gso_size;
      // CWR belongs to the first segment alone, which is in the first piece.
      out.gso_type = done_ == 0 ? header_.gso_type : static_cast<std::uint8_t>(header_.gso());
    }
  }
  out.emit(piece.head_room);
}

}  // namespace splitnic::lan
