// Segmentation: each piece is correct, and together they are the super-frame.
#include "lan_bridge/frame/segment.h"

#include <gtest/gtest.h>

#include "lan_bridge/frame/offload.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::lan::segment_test {

using frame_builder::Bytes;
using frame_builder::ethernet_of;
using frame_builder::make_frame;
using frame_builder::payload_of;
using frame_builder::Spec;

constexpr std::uint32_t kAll = kOffloadChecksum | kOffloadTso4 | kOffloadTso6 | kOffloadUso;

std::vector<Bytes> split(const Bytes& frame, Segmenter::Mode mode, std::size_t max = 0) {
  std::vector<Bytes> out;
  auto segmenter = Segmenter::of(frame, mode, max);
  if (!segmenter) return out;
  Piece piece;
  while (segmenter->next(piece)) {
    out.emplace_back(piece.size());
    piece.copy_to(out.back());
  }
  EXPECT_EQ(out.size(), segmenter->pieces());
  return out;
}
Bytes joined_payload(const std::vector<Bytes>& pieces) {
  Bytes out;
  for (const Bytes& piece : pieces) {
    const auto payload = payload_of(piece);
    out.insert(out.end(), payload.begin(), payload.end());
  }
  return out;
}
std::uint8_t tcp_flags(const Bytes& frame) {
  const auto layout = parse_frame(ethernet_of(frame));
  return std::to_integer<std::uint8_t>(ethernet_of(frame)[layout->l4_offset + 13]);
}
std::uint32_t tcp_sequence(const Bytes& frame) {
  const auto layout = parse_frame(ethernet_of(frame));
  return base::load_be<std::uint32_t>(ethernet_of(frame).data() + layout->l4_offset + 4);
}
std::uint16_t ip4_id(const Bytes& frame) {
  const auto layout = parse_frame(ethernet_of(frame));
  return base::load_be<std::uint16_t>(ethernet_of(frame).data() + layout->l3_offset + 4);
}
bool ip4_header_holds(const Bytes& frame) {
  const auto layout = parse_frame(ethernet_of(frame));
  return layout->l3 != L3::kIp4 ||
         sum_bytes(ethernet_of(frame).subspan(layout->l3_offset, 20)) == 0xFFFF;
}

TEST(SegmentTest, finished_segments_count_flags_ids_and_sequence_numbers) {
  const Bytes frame = make_frame({.payload_bytes = 2500, .gso_size = 1000, .tcp_flags = 0x99});
  const auto pieces = split(frame, Segmenter::Mode::kFinished);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(tcp_flags(pieces[0]), 0x90);  // CWR first, FIN and PSH last, ACK always
  EXPECT_EQ(tcp_flags(pieces[1]), 0x10);
  EXPECT_EQ(tcp_flags(pieces[2]), 0x19);
  EXPECT_EQ(ip4_id(pieces[0]), 0xFFFE);
  EXPECT_EQ(ip4_id(pieces[2]), 0x0000);
  EXPECT_EQ(tcp_sequence(pieces[0]), 0xFFFFF000);
  EXPECT_EQ(tcp_sequence(pieces[2]), 0xFFFFF000 + 2000);
  EXPECT_EQ(pieces[2].size(), frame.size() - 2000);
  for (const auto& piece : pieces) EXPECT_EQ(VnetHeader::parse(piece), VnetHeader{});
}

TEST(SegmentTest, property_finished_segments_verify_and_join_to_the_payload) {
  base::SeededRandom random(21);
  for (int i = 0; i < 400; ++i) {
    Spec spec{.is_ip6 = random.below(2) == 1, .is_udp = random.below(2) == 1};
    spec.tags.assign(random.below(3), 5);
    spec.payload_bytes = 1 + random.below(60000);
    spec.gso_size = static_cast<std::uint16_t>(1 + random.below(1400));
    spec.payload_bytes = std::min<std::size_t>(spec.payload_bytes, 100UL * spec.gso_size);
    spec.seed = random.next();
    spec.has_destination_options = random.below(3) == 0;
    const Bytes frame = make_frame(spec);
    const auto pieces = split(frame, Segmenter::Mode::kFinished);
    ASSERT_EQ(pieces.size(), (spec.payload_bytes + spec.gso_size - 1) / spec.gso_size);
    for (const Bytes& piece : pieces) {
      const auto layout = parse_frame(ethernet_of(piece));
      ASSERT_TRUE(verify_l4_checksum(ethernet_of(piece), *layout));
      ASSERT_TRUE(ip4_header_holds(piece));
      ASSERT_EQ(layout->end, ethernet_of(piece).size());
    }
    ASSERT_TRUE(frame_builder::equal(joined_payload(pieces), payload_of(frame)));
  }
}

TEST(SegmentTest, property_smaller_super_frames_segment_to_the_same_frames) {
  base::SeededRandom random(22);
  for (int i = 0; i < 300; ++i) {
    Spec spec{.is_ip6 = random.below(2) == 1, .is_udp = random.below(2) == 1};
    spec.tags.assign(random.below(3), 5);
    spec.gso_size = static_cast<std::uint16_t>(500 + random.below(900));
    spec.payload_bytes = spec.gso_size + 1 + random.below(60000 - spec.gso_size);
    spec.seed = random.next();
    spec.tcp_flags = 0x99;
    Bytes frame = make_frame(spec);
    if (!spec.is_udp) frame[1] |= std::byte{VnetHeader::kEcn};
    const std::size_t max = 2048 + random.below(65536);
    const auto supers = split(frame, Segmenter::Mode::kSuper, max);
    ASSERT_FALSE(supers.empty());
    std::vector<Bytes> twice;
    for (const Bytes& super : supers) {
      ASSERT_LE(super.size(), max);
      Bytes copy = super;
      ASSERT_EQ(rebuild(copy, kAll, 1500), VnetVerdict::kGood);
      ASSERT_EQ(copy, super);  // nothing to correct: our own header is what rebuild() makes
      if (VnetHeader::parse(super).gso_type == 0) {
        finish_checksum(copy);
        twice.push_back(copy);
        continue;
      }
      for (auto& piece : split(super, Segmenter::Mode::kFinished))
        twice.push_back(std::move(piece));
    }
    ASSERT_EQ(twice, split(frame, Segmenter::Mode::kFinished));
  }
}

TEST(SegmentTest, a_frame_longer_than_an_element_of_64_KiB_is_split_never_cut) {
  for (std::size_t ethernet_bytes = 65535; ethernet_bytes <= 65553; ++ethernet_bytes) {
    Spec spec{.payload_bytes = ethernet_bytes - 14 - 20 - 32, .gso_size = 1448};
    if (ethernet_bytes > 65549) {  // only a tag makes it so long
      spec.tags = {5};
      spec.payload_bytes -= 4;
    }
    const Bytes frame = make_frame(spec);
    ASSERT_EQ(frame.size(), ethernet_bytes + 12);
    const auto supers = split(frame, Segmenter::Mode::kSuper, 65536);
    ASSERT_EQ(supers.size(), 2U);
    EXPECT_LE(supers[0].size(), 65536U);
    EXPECT_EQ(payload_of(supers[0]).size() % 1448, 0U);
    EXPECT_TRUE(frame_builder::equal(joined_payload(supers), payload_of(frame)));
  }
}

TEST(SegmentTest, what_cannot_be_split_is_reported) {
  const Bytes frame = make_frame({.payload_bytes = 9000, .gso_size = 1200});
  EXPECT_FALSE(Segmenter::of(frame, Segmenter::Mode::kSuper, 1200));
  EXPECT_TRUE(Segmenter::of(frame, Segmenter::Mode::kSuper, 1200 + 12 + 14 + 52));
  EXPECT_FALSE(Segmenter::of(frame, Segmenter::Mode::kSuper, 1200 + 12 + 14 + 51));
  EXPECT_FALSE(Segmenter::of(make_frame({}), Segmenter::Mode::kFinished));
  Bytes lie = frame;
  lie[1] = std::byte{5};
  EXPECT_FALSE(Segmenter::of(lie, Segmenter::Mode::kFinished));
  EXPECT_FALSE(Segmenter::of(base::Bytes(frame).first(20), Segmenter::Mode::kFinished));
}

}  // namespace splitnic::lan::segment_test
