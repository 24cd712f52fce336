// Frame parsing: tags, both IPs, extension headers, and every truncation.
#include "lan_bridge/frame/ethernet.h"

#include <gtest/gtest.h>

#include "lan_bridge/frame/vlan.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::lan::ethernet_test {

using frame_builder::Bytes;
using frame_builder::ethernet_of;
using frame_builder::make_frame;
using frame_builder::Spec;

TEST(EthernetTest, finds_tcp_over_ip4) {
  const Bytes frame = make_frame({.payload_bytes = 10});
  const auto layout = parse_frame(ethernet_of(frame));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->l3, L3::kIp4);
  EXPECT_EQ(layout->l4, L4::kTcp);
  EXPECT_EQ(layout->l3_offset, 14U);
  EXPECT_EQ(layout->l4_offset, 34U);
  EXPECT_EQ(layout->payload_offset, 34U + 32);
  EXPECT_EQ(layout->end, 34U + 32 + 10);
  EXPECT_EQ(destination_mac(ethernet_of(frame))[5], 0x0B);
  EXPECT_EQ(source_mac(ethernet_of(frame))[5], 0x0A);
}

TEST(EthernetTest, finds_udp_behind_two_tags_and_an_ip6_option_header) {
  const Bytes frame = make_frame(
      {.is_ip6 = true, .is_udp = true, .tags = {0x2005, 4094}, .has_destination_options = true});
  const auto layout = parse_frame(ethernet_of(frame));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->tags, 2);
  EXPECT_EQ(layout->tci, 0x2005);
  EXPECT_EQ(layout->ethertype, kEthertypeIp6);
  EXPECT_EQ(layout->l4, L4::kUdp);
  EXPECT_EQ(layout->l3_offset, 22U);
  EXPECT_EQ(layout->l4_offset, 22U + 40 + 8);
  EXPECT_EQ(layout->payload_offset, 22U + 40 + 8 + 8);
  EXPECT_EQ(layout->frame_bytes_max(1500), 1522U);
}

TEST(EthernetTest, a_third_tag_is_an_unknown_ethertype) {
  const Bytes frame = make_frame({.tags = {1, 2, 3}});
  const auto layout = parse_frame(ethernet_of(frame));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->tags, 2);
  EXPECT_EQ(layout->ethertype, kEthertypeVlan);
  EXPECT_EQ(layout->l3, L3::kOther);
}

TEST(EthernetTest, padding_after_the_datagram_is_not_part_of_it) {
  Bytes frame = make_frame({.is_udp = true, .payload_bytes = 1});
  frame.resize(frame.size() + 17);
  const auto layout = parse_frame(ethernet_of(frame));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->end, 14U + 20 + 8 + 1);
}

TEST(EthernetTest, a_fragment_has_no_l4) {
  for (const unsigned field : {0x2000U, 0x0001U, 0x3FFFU}) {
    Bytes frame = make_frame({});
    base::store_be<std::uint16_t>(frame.data() + 12 + 14 + 6, static_cast<std::uint16_t>(field));
    const auto layout = parse_frame(ethernet_of(frame));
    ASSERT_TRUE(layout);
    EXPECT_TRUE(layout->fragment);
    EXPECT_EQ(layout->l4, L4::kOther);
  }
}

TEST(EthernetTest, L_35_any_truncation_and_any_byte_stays_inside_the_frame) {
  base::SeededRandom random(35);
  for (int i = 0; i < 20000; ++i) {
    Spec spec{.is_ip6 = random.below(2) == 1, .is_udp = random.below(2) == 1};
    spec.payload_bytes = random.below(40);
    spec.has_destination_options = random.below(2) == 1;
    spec.tags.assign(random.below(4), 7);
    Bytes frame = make_frame(spec);
    frame.erase(frame.begin(), frame.begin() + 12);
    frame.resize(random.below(frame.size() + 1));
    for (std::uint64_t n = random.below(4); n > 0 && !frame.empty(); --n) {
      frame[random.below(frame.size())] = static_cast<std::byte>(random.next32() & 0xFF);
    }
    const Bytes exact(frame);  // its own allocation: a sanitizer sees an overrun
    const auto layout = parse_frame(exact);
    ASSERT_EQ(layout.has_value() || exact.size() < 22, true);
    if (!layout) continue;
    ASSERT_LE(layout->end, exact.size());
    ASSERT_LE(layout->l4_offset, layout->end);
    ASSERT_LE(layout->payload_offset, layout->end);
    if (layout->l4 == L4::kTcp || layout->l4 == L4::kUdp) {
      ASSERT_LE(layout->destination_offset + 16, exact.size() + 12);
      verify_l4_checksum(exact, *layout);
    }
  }
}

TEST(VlanTest, a_tag_taken_out_of_band_comes_back_with_the_offsets_shifted) {
  const Spec tagged_spec{.tags = {0x6005}, .payload_bytes = 4000, .gso_size = 1400};
  Spec bare_spec = tagged_spec;
  bare_spec.tags.clear();
  const Bytes expected = make_frame(tagged_spec);
  Bytes room(kVlanTagBytes);
  const Bytes bare = make_frame(bare_spec);
  room.insert(room.end(), bare.begin(), bare.end());
  const auto tagged =
      put_tag_back(base::MutableBytes(room).subspan(kVlanTagBytes), kEthertypeVlan, 0x6005);
  EXPECT_EQ(tagged.data(), room.data());
  EXPECT_TRUE(frame_builder::equal(tagged, expected));
}

TEST(VlanTest, without_a_partial_checksum_the_vnet_header_stays) {
  Bytes room(kVlanTagBytes);
  const Bytes bare = make_frame({.is_udp = true});
  room.insert(room.end(), bare.begin(), bare.end());
  const auto tagged =
      put_tag_back(base::MutableBytes(room).subspan(kVlanTagBytes), kEthertypeServiceVlan, 0);
  EXPECT_EQ(VnetHeader::parse(tagged), VnetHeader{});
  EXPECT_EQ(parse_frame(ethernet_of(tagged))->tags, 1);
}

}  // namespace splitnic::lan::ethernet_test
