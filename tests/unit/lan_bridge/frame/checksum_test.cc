// Checksums compared with known sums and with each other.
#include "lan_bridge/frame/checksum.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::lan::checksum_test {

using frame_builder::Bytes;
using frame_builder::ethernet_of;
using frame_builder::from_hex;
using frame_builder::make_frame;

constexpr std::string_view kUdp4 =
    "02000000000b02000000000a0800450000250001400040114e8bc0000201c6336407123400350011227b73706c6974"
    "6e6963"
    "21";
constexpr std::string_view kTcp6 =
    "02000000000b02000000000a86dd600000000019064020010db800000000000000000000000120010db80000000000"
    "000000"
    "0000000200509c400000000100000002501803e87005000068656c6c6f";
constexpr std::string_view kSctp =
    "02000000000b02000000000a0800450000240001400040844e19c0000201c63364071388138911223344000000000b"
    "000004";

Bytes with_vnet(std::string_view hex, const VnetHeader& header) {
  Bytes frame(VnetHeader::kBytes);
  header.emit(frame);
  const Bytes ethernet = from_hex(hex);
  frame.insert(frame.end(), ethernet.begin(), ethernet.end());
  return frame;
}
VnetHeader partial(std::size_t start, std::size_t offset) {
  VnetHeader header;
  header.flags = VnetHeader::kNeedsChecksum;
  header.csum_start = static_cast<std::uint16_t>(start);
  header.csum_offset = static_cast<std::uint16_t>(offset);
  return header;
}

TEST(ChecksumTest, golden_ip4_header) {
  // The example of RFC 1071's usual illustration.
  const Bytes header = from_hex("45000073000040004011b861c0a80001c0a800c7");
  EXPECT_EQ(sum_bytes(header), 0xFFFF);
  Bytes frame = from_hex(kUdp4);
  frame[24] = frame[25] = std::byte{0xEE};
  store_ip4_header_checksum(frame, *parse_frame(frame));
  EXPECT_EQ(frame, from_hex(kUdp4));
}

TEST(ChecksumTest, golden_udp4_and_tcp6_verify) {
  for (const auto hex : {kUdp4, kTcp6}) {
    Bytes frame = from_hex(hex);
    const auto layout = parse_frame(frame);
    EXPECT_TRUE(verify_l4_checksum(frame, *layout));
    EXPECT_FALSE(is_partial_checksum(frame, *layout));
    frame.back() ^= std::byte{1};
    EXPECT_FALSE(verify_l4_checksum(frame, *layout));
  }
  const Bytes udp = from_hex(kUdp4);
  EXPECT_EQ(pseudo_header_sum(udp, *parse_frame(udp), 17), 0xEC5E);
  const Bytes tcp = from_hex(kTcp6);
  EXPECT_EQ(pseudo_header_sum(tcp, *parse_frame(tcp), 25), 0x5B94);
}

TEST(ChecksumTest, a_partial_checksum_is_finished_to_the_golden_one) {
  Bytes udp = with_vnet(kUdp4, partial(34, 6));
  base::store_be<std::uint16_t>(udp.data() + 12 + 40, 0xEC5E);
  EXPECT_TRUE(is_partial_checksum(ethernet_of(udp), *parse_frame(ethernet_of(udp))));
  ASSERT_TRUE(finish_checksum(udp));
  EXPECT_EQ(udp, with_vnet(kUdp4, {}));
  Bytes tcp = with_vnet(kTcp6, partial(54, 16));
  base::store_be<std::uint16_t>(tcp.data() + 12 + 70, 0x5B94);
  ASSERT_TRUE(finish_checksum(tcp));
  EXPECT_EQ(tcp, with_vnet(kTcp6, {}));
}

TEST(ChecksumTest, sctp_gets_its_crc32c) {
  Bytes frame = with_vnet(kSctp, partial(34, 8));
  ASSERT_TRUE(finish_checksum(frame));
  EXPECT_EQ(base::load_be<std::uint32_t>(frame.data() + 12 + 42), 0x12F57B75U);
}

TEST(ChecksumTest, a_field_outside_the_frame_is_refused) {
  Bytes frame = with_vnet(kUdp4, partial(34, 16));
  const Bytes before = frame;
  EXPECT_FALSE(finish_checksum(frame));
  EXPECT_EQ(frame, before);
}

TEST(ChecksumTest, udp4_without_a_checksum_verifies_and_udp6_does_not) {
  Bytes frame = from_hex(kUdp4);
  frame[40] = frame[41] = std::byte{0};
  EXPECT_TRUE(verify_l4_checksum(frame, *parse_frame(frame)));
  Bytes six = make_frame({.is_ip6 = true, .is_udp = true});
  const auto layout = parse_frame(ethernet_of(six));
  base::store_be<std::uint16_t>(six.data() + 12 + l4_checksum_at(*layout), 0);
  EXPECT_FALSE(verify_l4_checksum(ethernet_of(six), *layout));
}

TEST(ChecksumTest, the_sum_equals_the_plain_loop_for_any_length_and_alignment) {
  base::SeededRandom random(9);
  Bytes bytes(300);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random.next32() & 0xFF);
  for (int i = 0; i < 3000; ++i) {
    const std::size_t begin = random.below(9);
    const std::size_t size = random.below(bytes.size() - begin);
    const auto seed = static_cast<std::uint32_t>(random.below(0x30000));
    std::uint64_t plain = seed;
    for (std::size_t k = 0; k < size; ++k) {
      plain += std::to_integer<std::uint64_t>(bytes[begin + k]) << (k % 2 == 0 ? 8U : 0U);
    }
    while (plain >> 16 != 0) plain = (plain & 0xFFFF) + (plain >> 16);
    ASSERT_EQ(sum_bytes(base::Bytes(bytes).subspan(begin, size), seed), plain);
  }
  const Bytes ones(65536, std::byte{0xFF});
  EXPECT_EQ(sum_bytes(ones), 0xFFFF);
  EXPECT_EQ(sum_bytes({}), 0);
}

// The words add up to 2^65 - 1: folding the high half in carries once more.
TEST(ChecksumTest, a_carry_out_of_the_sum_of_both_halves_counts) {
  Bytes bytes(24, std::byte{0xFF});
  const std::uint64_t one = 1;
  std::memcpy(bytes.data() + 16, &one, sizeof one);
  EXPECT_EQ(sum_bytes(bytes, 0), sum_bytes(Bytes(bytes.begin() + 16, bytes.end()), 0));
}

TEST(ChecksumTest, any_frame_finished_verifies) {
  base::SeededRandom random(10);
  for (int i = 0; i < 2000; ++i) {
    const bool is_ip6 = random.below(2) == 1;
    const Bytes frame = make_frame({.is_ip6 = is_ip6,
                                    .is_udp = random.below(2) == 1,
                                    .payload_bytes = random.below(200),
                                    .is_partial = false,
                                    .seed = random.next(),
                                    .has_destination_options = random.below(2) == 1});
    ASSERT_TRUE(verify_l4_checksum(ethernet_of(frame), *parse_frame(ethernet_of(frame))));
  }
}

}  // namespace splitnic::lan::checksum_test
