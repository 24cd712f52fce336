// The virtio-net header, and the rebuilding that validates it.
#include "lan_bridge/frame/vnet_header.h"

#include <gtest/gtest.h>

#include "lan_bridge/frame/captured.h"
#include "lan_bridge/frame/offload.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::lan::vnet_header_test {

using frame_builder::Bytes;
using frame_builder::ethernet_of;
using frame_builder::make_frame;
using frame_builder::Spec;

constexpr std::uint32_t kAll = kOffloadChecksum | kOffloadTso4 | kOffloadTso6 | kOffloadUso;

VnetHeader header_of(const Bytes& frame) { return VnetHeader::parse(frame); }
VnetVerdict rebuild_with(Bytes frame, const VnetHeader& header, std::uint32_t granted = kAll,
                         std::uint32_t mtu = 1500) {
  header.emit(frame);
  return rebuild(frame, granted, mtu);
}

TEST(VnetHeaderTest, golden_bytes_are_little_endian) {
  const Bytes bytes = frame_builder::from_hex("018442007805220010000000");
  const VnetHeader header = VnetHeader::parse(bytes);
  EXPECT_EQ(header.flags, 1);
  EXPECT_EQ(header.gso(), GsoType::kTcp6);
  EXPECT_EQ(header.gso_type, 0x84);
  EXPECT_EQ(header.hdr_len, 0x42);
  EXPECT_EQ(header.gso_size, 1400);
  EXPECT_EQ(header.csum_start, 34);
  EXPECT_EQ(header.csum_offset, 16);
  Bytes out(12, std::byte{0xEE});
  header.emit(out);
  EXPECT_EQ(out, bytes);
}

TEST(VnetHeaderTest, a_good_super_frame_keeps_its_meaning_and_hdr_len_comes_from_its_headers) {
  for (const bool is_udp : {false, true}) {
    for (const bool is_ip6 : {false, true}) {
      Bytes frame = make_frame({.is_ip6 = is_ip6,
                                .is_udp = is_udp,
                                .tags = {5},
                                .payload_bytes = 9000,
                                .gso_size = 1200});
      const VnetHeader before = header_of(frame);
      VnetHeader wild = before;
      wild.hdr_len = 0xFFFF;
      wild.flags = 0xFF;
      wild.emit(frame);
      frame[10] = std::byte{0xAA};  // the reserved word
      ASSERT_EQ(rebuild(frame, kAll, 1500), VnetVerdict::kGood);
      EXPECT_EQ(header_of(frame), before);
      EXPECT_EQ(frame[10], std::byte{0});
    }
  }
}

TEST(VnetHeaderTest, only_what_was_granted_passes) {
  const Bytes tso4 = make_frame({.payload_bytes = 9000, .gso_size = 1200});
  const Bytes tso6 = make_frame({.is_ip6 = true, .payload_bytes = 9000, .gso_size = 1200});
  const Bytes uso = make_frame({.is_udp = true, .payload_bytes = 9000, .gso_size = 1200});
  const Bytes partial = make_frame({.is_partial = true});
  const struct {
    const Bytes* frame;
    std::uint32_t needs;
  } cases[] = {{&tso4, kOffloadTso4},
               {&tso6, kOffloadTso6},
               {&uso, kOffloadUso},
               {&partial, kOffloadChecksum}};
  for (const auto& c : cases) {
    EXPECT_EQ(rebuild_with(*c.frame, header_of(*c.frame), kAll & ~c.needs),
              VnetVerdict::kNotGranted);
    EXPECT_EQ(rebuild_with(*c.frame, header_of(*c.frame), c.needs | kOffloadChecksum),
              VnetVerdict::kGood);
  }
  for (unsigned type = 0; type < 256; ++type) {
    VnetHeader header = header_of(tso4);
    header.gso_type = static_cast<std::uint8_t>(type);
    const bool is_good = type == 0 || type == 1 || type == 0x81;
    EXPECT_EQ(rebuild_with(tso4, header) == VnetVerdict::kGood, is_good) << type;
  }
}

TEST(VnetHeaderTest, the_checksum_field_must_lie_in_the_frame) {
  const Bytes frame = make_frame({.payload_bytes = 60, .is_partial = true});
  const auto bytes = static_cast<std::uint16_t>(frame.size() - 12);
  VnetHeader header = header_of(frame);
  const auto verdict = [&](unsigned start, unsigned offset) {
    header.csum_start = static_cast<std::uint16_t>(start);
    header.csum_offset = static_cast<std::uint16_t>(offset);
    return rebuild_with(frame, header);
  };
  EXPECT_EQ(verdict(bytes - 2U, 0), VnetVerdict::kGood);
  EXPECT_EQ(verdict(bytes - 1U, 0), VnetVerdict::kChecksumRange);
  EXPECT_EQ(verdict(34, bytes - 36U), VnetVerdict::kGood);
  EXPECT_EQ(verdict(34, bytes - 35U), VnetVerdict::kChecksumRange);
  EXPECT_EQ(verdict(0xFFFF, 0xFFFF), VnetVerdict::kChecksumRange);
}

// Its sum would be stored there once the unit has looked at the VLAN.
TEST(VnetHeaderTest, M_4_a_checksum_lies_behind_addresses_and_tags) {
  const Bytes frame = make_frame({.tags = {100}, .payload_bytes = 60, .is_partial = true});
  VnetHeader header = header_of(frame);
  header.csum_offset = 0;
  for (unsigned start = 0; start < 34; ++start) {
    header.csum_start = static_cast<std::uint16_t>(start);
    EXPECT_EQ(rebuild_with(frame, header), VnetVerdict::kChecksumRange) << start;
  }
  header.csum_start = 34;
  EXPECT_EQ(rebuild_with(frame, header), VnetVerdict::kGood);
}

TEST(VnetHeaderTest, a_segment_must_fit_the_mtu) {
  const Bytes frame =
      make_frame({.payload_bytes = 9000, .gso_size = 1448});  // 20 + 32 + 1448 = 1500
  const Bytes tagged = make_frame({.tags = {5}, .payload_bytes = 9000, .gso_size = 1448});
  VnetHeader header = header_of(frame);
  EXPECT_EQ(rebuild_with(frame, header), VnetVerdict::kGood);
  EXPECT_EQ(rebuild_with(tagged, header_of(tagged)), VnetVerdict::kGood);
  EXPECT_EQ(rebuild_with(frame, header, kAll, 1499), VnetVerdict::kGsoSize);
  header.gso_size = 0;
  EXPECT_EQ(rebuild_with(frame, header), VnetVerdict::kGsoSize);
}

// 512 segments of 120 bytes are 61440 bytes.
TEST(VnetHeaderTest, H_3_segments_are_neither_tiny_nor_too_many) {
  const auto verdict = [](bool is_udp, std::size_t payload_bytes, std::uint16_t gso_size) {
    const Bytes frame =
        make_frame({.is_udp = is_udp, .payload_bytes = payload_bytes, .gso_size = gso_size});
    return rebuild_with(frame, header_of(frame));
  };
  for (const std::uint16_t tiny : {std::uint16_t{1}, std::uint16_t{47}}) {
    EXPECT_EQ(verdict(false, 9000, tiny), VnetVerdict::kGsoSize) << tiny;
  }
  EXPECT_EQ(verdict(false, 9000, 48), VnetVerdict::kGood);
  for (const bool is_udp : {false, true}) {
    EXPECT_EQ(verdict(is_udp, 512 * 120, 120), VnetVerdict::kGood);
    EXPECT_EQ(verdict(is_udp, 512 * 120 + 1, 120), VnetVerdict::kGsoSize);
  }
  EXPECT_EQ(verdict(true, 512, 1), VnetVerdict::kGood) << "UDP has short datagrams";
  EXPECT_EQ(verdict(true, 513, 1), VnetVerdict::kGsoSize);
}

TEST(VnetHeaderTest, L_3_a_frame_longer_than_any_is_refused_at_both_ends) {
  Bytes frame = make_frame({});
  frame.resize(kFrameBytesMax);
  EXPECT_EQ(rebuild(frame, kAll, 1500), VnetVerdict::kGood);
  frame.resize(kFrameBytesMax + 1);
  EXPECT_NE(rebuild(frame, kAll, 1500), VnetVerdict::kGood);
}

TEST(VnetHeaderTest, L_12_a_tag_that_is_inserted_wraps_no_offset) {
  Bytes frame = make_frame({});
  frame.resize(kFrameBytesMax);
  VnetHeader header;
  header.flags = VnetHeader::kNeedsChecksum;
  for (const unsigned start : {65531U, 65532U, 65535U}) {
    header.csum_start = static_cast<std::uint16_t>(start);
    const bool is_good = start + kVlanTagBytes <= UINT16_MAX;
    EXPECT_EQ(rebuild_with(frame, header) == VnetVerdict::kGood, is_good) << start;
  }
}

TEST(VnetHeaderTest, headers_must_be_those_of_the_super_frame_claimed) {
  const Bytes tcp = make_frame({.payload_bytes = 9000, .gso_size = 1200});
  VnetHeader header = header_of(tcp);
  header.gso_type = 4;  // TCP over IPv6
  EXPECT_EQ(rebuild_with(tcp, header), VnetVerdict::kHeaders);
  header.gso_type = 5;  // UDP
  EXPECT_EQ(rebuild_with(tcp, header), VnetVerdict::kHeaders);
  header = header_of(tcp);
  header.csum_start = 38;
  EXPECT_EQ(rebuild_with(tcp, header), VnetVerdict::kHeaders);
  header = header_of(tcp);
  header.flags = 0;
  EXPECT_EQ(rebuild_with(tcp, header), VnetVerdict::kHeaders);
  Bytes trailing = tcp;
  trailing.resize(trailing.size() + 1);
  EXPECT_EQ(rebuild_with(trailing, header_of(tcp)), VnetVerdict::kHeaders);
}

TEST(VnetHeaderTest, one_segment_is_no_super_frame) {
  Bytes frame = make_frame({.payload_bytes = 1200, .gso_size = 1200});
  ASSERT_EQ(rebuild(frame, kAll, 1500), VnetVerdict::kGood);
  EXPECT_EQ(header_of(frame).gso_type, 0);
  EXPECT_EQ(header_of(frame).gso_size, 0);
  EXPECT_TRUE(header_of(frame).needs_checksum());
}

TEST(VnetHeaderTest, each_truncation_and_random_headers_are_refused_or_safe) {
  base::SeededRandom random(12);
  const Bytes whole = make_frame({.payload_bytes = 3000, .gso_size = 1200});
  for (std::size_t n = 0; n < 26; ++n) {
    Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(rebuild(cut, kAll, 1500), VnetVerdict::kShort);
  }
  int good = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes frame(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(26 + random.below(200)));
    if (i % 2 == 0) frame[1] = std::byte{0};  // no super-frame: most of these are acceptable
    for (std::size_t k = 0; k < 12; ++k) {
      if (random.below(4) == 0) frame[k] = static_cast<std::byte>(random.below(64));
    }
    const Bytes before = frame;
    if (rebuild(frame, kAll, 1500) != VnetVerdict::kGood) {
      ASSERT_EQ(frame, before);
      continue;
    }
    ++good;
    ASSERT_TRUE(finish_checksum(frame));
  }
  EXPECT_GT(good, 1000);
}

TEST(VnetHeaderTest, verdicts_print) {
  EXPECT_EQ(name(VnetVerdict::kGsoSize), "gso_size");
  EXPECT_EQ(name(VnetVerdict::kCount_), "?");
}

TEST(CapturedTest, a_tcp_super_frame_is_recognised_and_marked) {
  for (const bool is_ip6 : {false, true}) {
    const std::size_t headers = is_ip6 ? 40U + 32 : 20U + 32;
    const Bytes expected = make_frame({.is_ip6 = is_ip6,
                                       .tags = {9},
                                       .payload_bytes = 20000,
                                       .gso_size = static_cast<std::uint16_t>(1500 - headers)});
    Bytes frame = expected;
    VnetHeader{}.emit(frame);
    ASSERT_TRUE(rebuild_captured(frame, 1500));
    EXPECT_EQ(frame, expected);
    EXPECT_EQ(rebuild(frame, kAll, 1500), VnetVerdict::kGood);
  }
}

TEST(CapturedTest, a_partial_checksum_is_recognised_and_a_finished_or_wrong_one_left_alone) {
  for (const bool is_udp : {false, true}) {
    const Bytes partial = make_frame({.is_udp = is_udp, .is_partial = true});
    Bytes frame = partial;
    VnetHeader{}.emit(frame);
    ASSERT_TRUE(rebuild_captured(frame, 1500));
    EXPECT_EQ(frame, partial);
    const Bytes finished = make_frame({.is_udp = is_udp});
    frame = finished;
    ASSERT_TRUE(rebuild_captured(frame, 1500));
    EXPECT_EQ(frame, finished);
    frame.back() ^= std::byte{4};  // corrupt: must stay visibly corrupt
    ASSERT_TRUE(rebuild_captured(frame, 1500));
    EXPECT_FALSE(header_of(frame).needs_checksum());
  }
}

TEST(CapturedTest, merged_udp_datagrams_are_refused) {
  Bytes frame = make_frame({.is_udp = true, .payload_bytes = 9000, .gso_size = 1200});
  EXPECT_FALSE(rebuild_captured(frame, 1500));
  Bytes whole =
      make_frame({.is_udp = true, .payload_bytes = 9000});  // a jumbo datagram, checksum finished
  EXPECT_TRUE(rebuild_captured(whole, 1500));
  EXPECT_EQ(header_of(whole).gso_type, 0);
}

}  // namespace splitnic::lan::vnet_header_test
