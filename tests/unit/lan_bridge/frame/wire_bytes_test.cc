// The charge for a frame, compared with the segments that it becomes.
#include "lan_bridge/frame/wire_bytes.h"

#include <gtest/gtest.h>

#include "lan_bridge/frame/offload.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::lan::wire_bytes_test {

using frame_builder::Bytes;
using frame_builder::make_frame;
using frame_builder::Spec;

std::size_t of_segments(const Bytes& super) {
  auto segments = Segmenter::of(super, Segmenter::Mode::kFinished);
  EXPECT_TRUE(segments);
  std::size_t bytes = 0;
  for (Piece piece; segments && segments->next(piece);) {
    bytes += piece.size() - kVnetHeaderBytes + kWireGapBytes;
  }
  return bytes;
}

TEST(WireBytesTest, a_plain_frame_is_its_length_and_its_gap) {
  EXPECT_EQ(wire_bytes(Bytes(kVnetHeaderBytes + 1514)), 1538U);
  EXPECT_EQ(wire_bytes(Bytes(kVnetHeaderBytes + 20)), 84U) << "the shortest slot of an Ethernet";
  EXPECT_EQ(wire_bytes(Bytes(5)), 84U);
}

TEST(WireBytesTest, H_3_a_super_frame_is_all_of_its_segments) {
  for (const bool is_udp : {false, true}) {
    for (const bool is_ip6 : {false, true}) {
      for (const unsigned gso_size : {48U, 130U, 1400U}) {
        const Bytes frame = make_frame({.is_ip6 = is_ip6,
                                        .is_udp = is_udp,
                                        .tags = {7},
                                        .payload_bytes = 20'000,
                                        .gso_size = static_cast<std::uint16_t>(gso_size)});
        EXPECT_EQ(wire_bytes(frame), of_segments(frame)) << gso_size;
      }
    }
  }
}

TEST(WireBytesTest, M_3_a_super_frame_is_as_many_frames_as_it_has_segments) {
  EXPECT_EQ(wire_cost(Bytes(kVnetHeaderBytes + 1514)).frames, 1U);
  EXPECT_EQ(wire_cost(Bytes(5)).frames, 1U);
  const Bytes frame = make_frame({.is_udp = true, .payload_bytes = 20'000, .gso_size = 1400});
  EXPECT_EQ(wire_cost(frame).frames, 15U);
  EXPECT_EQ(wire_cost(frame).bytes, wire_bytes(frame));
}

TEST(WireBytesTest, H_3_a_header_that_lies_costs_a_bounded_amount) {
  Bytes frame = make_frame({.payload_bytes = 60'000, .gso_size = 1400});
  constexpr std::size_t kMost = 65'536 + kSegmentsMax * (Piece::kHeadBytesMax + kWireGapBytes);
  for (unsigned word = 0; word < 0x10000; word += 0xFF) {
    VnetHeader header = VnetHeader::parse(frame);
    header.gso_size = static_cast<std::uint16_t>(word | 1);
    header.csum_start = static_cast<std::uint16_t>(0xFFFF - word);
    header.emit(frame);
    const std::size_t bytes = wire_bytes(frame);
    EXPECT_LE(bytes, kMost);
    EXPECT_GE(bytes, frame.size() - kVnetHeaderBytes - Piece::kHeadBytesMax);
  }
}

}  // namespace splitnic::lan::wire_bytes_test
