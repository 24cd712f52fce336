#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/endian.h"
#include "lan_bridge/frame/captured.h"
#include "lan_bridge/frame/checksum.h"
#include "lan_bridge/frame/flow.h"
#include "lan_bridge/frame/flow_fields.h"
#include "lan_bridge/frame/frame_layout.h"
#include "lan_bridge/frame/segment.h"
#include "lan_bridge/frame/traffic_class.h"
#include "lan_bridge/frame/vnet_header.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {
namespace {

using namespace lan;

constexpr std::size_t kParameterBytes = 4;
constexpr std::size_t kFrameMax = 70000;
constexpr std::size_t kIpBytesMax = 65535;

bool is_of_one_class(base::Bytes a, base::Bytes b) {
  const TrafficClass of_a = class_of(a);
  const TrafficClass of_b = class_of(b);
  return of_a.priority == of_b.priority && of_a.code_point == of_b.code_point;
}

// A piece is a whole frame of the same flow, and its checksum is right once it is complete.
void check_piece(base::MutableBytes piece, base::Bytes frame) {
  CHECK(flow_of(piece) == flow_of(frame) && flow_fields_of(piece) == flow_fields_of(frame));
  CHECK(is_of_one_class(piece, frame));
  const auto layout = layout_of(piece);
  const base::Bytes ethernet = piece.subspan(VnetHeader::kBytes);
  CHECK(layout && (layout->l4 == L4::kTcp || layout->l4 == L4::kUdp));
  CHECK(layout->end == ethernet.size());
  CHECK(finish_checksum(piece) && !VnetHeader::parse(piece).needs_checksum());
  CHECK(verify_l4_checksum(ethernet, *layout));
}

// All pieces together carry the payload of the super-frame in its order, each within its bound.
void split(base::Bytes frame, Segmenter::Mode mode, std::size_t piece_bytes_max) {
  auto segmenter = Segmenter::of(frame, mode, piece_bytes_max);
  if (!segmenter) return;
  const std::size_t expected = segmenter->pieces();
  const std::size_t head_bytes =
      VnetHeader::kBytes + parse_frame(frame.subspan(VnetHeader::kBytes))->payload_offset;
  std::vector<std::byte> room(frame.size());
  std::size_t pieces = 0;
  std::size_t payload = 0;
  for (Piece piece; segmenter->next(piece); ++pieces) {
    CHECK(piece.size() <= frame.size() && !piece.payload.empty());
    CHECK(piece.payload.data() == frame.data() + head_bytes + payload);
    if (mode == Segmenter::Mode::kSuper) CHECK(piece.size() <= piece_bytes_max);
    const base::MutableBytes copy = piece.copy_to(room);
    CHECK(copy.size() == piece.size());
    if (copy.size() <= kIpBytesMax) check_piece(copy, frame);
    payload += piece.payload.size();
  }
  CHECK(pieces == expected && head_bytes + payload == frame.size());
}

void split_both_ways(base::Bytes frame) {
  split(frame, Segmenter::Mode::kFinished, 0);
  split(frame, Segmenter::Mode::kSuper, 9000);
}

// The header of a frame that was taken: a checksum lies in the frame, no segment is longer than the
// MTU, and what was not granted is not used.
void check_rebuilt(base::Bytes frame, std::uint32_t granted, std::uint32_t mtu) {
  const VnetHeader header = VnetHeader::parse(frame);
  const base::Bytes ethernet = frame.subspan(VnetHeader::kBytes);
  CHECK((offloads_used(header) & ~granted) == 0);
  CHECK((header.flags & ~VnetHeader::kNeedsChecksum) == 0);
  if (header.needs_checksum()) {
    CHECK(header.csum_start >= kEthernetBytes + 20 &&
          header.csum_start <= UINT16_MAX - kVlanTagBytes);
    CHECK(std::size_t{header.csum_start} + header.csum_offset + 2 <= ethernet.size());
  }
  if (header.gso() == GsoType::kNone) {
    return CHECK(header.gso_type == 0 && header.gso_size == 0 && header.hdr_len == 0);
  }
  const auto layout = parse_frame(ethernet);
  CHECK(layout && header.needs_checksum() && layout->end == ethernet.size());
  CHECK(header.hdr_len == layout->payload_offset && header.csum_start == layout->l4_offset);
  CHECK(header.hdr_len + std::size_t{header.gso_size} <=
        std::size_t{mtu} + kEthernetBytes + kVlanTagBytes * layout->tags);
  const std::size_t payload = ethernet.size() - header.hdr_len;
  CHECK(payload > header.gso_size && has_legal_segments(header, payload));
}

}  // namespace

void frame_in(base::Bytes in) {
  if (in.size() < kParameterBytes || in.size() > kFrameMax) return;
  const std::uint32_t mtu = base::load_be<std::uint16_t>(in.data());
  const std::uint32_t granted = base::load_be<std::uint16_t>(in.data() + 2);
  const base::Bytes given = in.subspan(kParameterBytes);

  std::vector<std::byte> frame(given.begin(), given.end());
  const VnetVerdict verdict = rebuild(frame, granted, mtu);
  CHECK(name(verdict) != "unknown" && name(verdict) != "?");
  if (verdict == VnetVerdict::kGood) {
    check_rebuilt(frame, granted, mtu);
    const std::vector<std::byte> once = frame;
    CHECK(rebuild(frame, granted, mtu) == VnetVerdict::kGood && frame == once);
    split_both_ways(frame);
    CHECK(finish_checksum(frame) && !VnetHeader::parse(frame).needs_checksum());
  } else {
    CHECK(std::ranges::equal(frame, given));
  }

  if (given.size() < VnetHeader::kBytes) return;
  std::vector<std::byte> captured(given.begin(), given.end());
  if (rebuild_captured(captured, mtu)) split_both_ways(captured);
  std::vector<std::byte> merged(given.begin(), given.end());
  if (complete_super_frame(merged)) split_both_ways(merged);
}

}  // namespace splitnic::fuzz
