#include <algorithm>

#include "base/check.h"
#include "base/endian.h"
#include "lan_bridge/frame/captured.h"
#include "lan_bridge/frame/segment.h"
#include "lan_bridge/frame/vnet_header.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {
namespace {

using namespace lan;

constexpr std::size_t kParameterBytes = 4;
constexpr std::size_t kFrameMax = 70000;

// All pieces together carry the payload of the super-frame, each within its bound.
void split(base::Bytes frame, Segmenter::Mode mode, std::size_t piece_bytes_max) {
  auto segmenter = Segmenter::of(frame, mode, piece_bytes_max);
  if (!segmenter) return;
  const std::size_t expected = segmenter->pieces();
  std::vector<std::byte> room(frame.size());
  std::size_t pieces = 0;
  std::size_t payload = 0;
  for (Piece piece; segmenter->next(piece); ++pieces) {
    CHECK(piece.size() <= frame.size() && !piece.payload.empty());
    if (mode == Segmenter::Mode::kSuper) CHECK(piece.size() <= piece_bytes_max);
    CHECK(piece.copy_to(room).size() == piece.size());
    payload += piece.payload.size();
  }
  CHECK(pieces == expected && payload < frame.size());
}

void split_both_ways(base::Bytes frame) {
  split(frame, Segmenter::Mode::kFinished, 0);
  split(frame, Segmenter::Mode::kSuper, 9000);
}

}  // namespace

void frame_in(base::Bytes in) {
  if (in.size() < kParameterBytes || in.size() > kFrameMax) return;
  const std::uint32_t mtu = base::load_be<std::uint16_t>(in.data());
  const std::uint32_t granted = base::load_be<std::uint16_t>(in.data() + 2);
  const base::Bytes given = in.subspan(kParameterBytes);

  std::vector<std::byte> frame(given.begin(), given.end());
  const VnetVerdict verdict = rebuild(frame, granted, mtu);
  CHECK(name(verdict) != "unknown");
  if (verdict == VnetVerdict::kGood) {
    const std::vector<std::byte> once = frame;
    CHECK(rebuild(frame, granted, mtu) == VnetVerdict::kGood && frame == once);
    split_both_ways(frame);
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
