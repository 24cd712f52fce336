#include "lan_bridge/frame/traffic_class.h"

#include <gtest/gtest.h>

#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::lan::traffic_class_test {
namespace {

using frame_builder::Bytes;
using frame_builder::make_frame;

constexpr std::size_t kIp = VnetHeader::kBytes + kEthernetBytes;

TEST(TrafficClassTest, S001_49_the_dscp_of_both_versions_of_ip) {
  for (const unsigned dscp : {0U, 1U, 46U, 63U}) {
    Bytes ip4 = make_frame({});
    ip4[kIp + 1] = static_cast<std::byte>(dscp << 2 | 3);  // and both bits of ECN
    EXPECT_EQ(class_of(ip4).code_point, dscp);
    EXPECT_FALSE(class_of(ip4).priority.has_value());
    Bytes ip6 = make_frame({.is_ip6 = true});
    ip6[kIp] = static_cast<std::byte>(0x60 | dscp >> 2);
    ip6[kIp + 1] = static_cast<std::byte>((dscp << 6 & 0xC0) | 0x3F);  // ECN and flow label
    EXPECT_EQ(class_of(ip6).code_point, dscp);
  }
}

TEST(TrafficClassTest, S001_49_the_priority_of_the_outer_tag) {
  EXPECT_EQ(class_of(make_frame({.tags = {0xA005}})).priority, 5);
  EXPECT_EQ(class_of(make_frame({.tags = {0xE005, 0x2006}})).priority, 7);
  EXPECT_EQ(class_of(make_frame({.tags = {0}})).priority, 0);
  EXPECT_EQ(class_of(make_frame({.tags = {0xA005}})).code_point, 0);
}

TEST(TrafficClassTest, what_does_not_parse_has_no_class) {
  const Bytes frame = make_frame({.tags = {0xA005}});
  for (std::size_t size = 0; size < VnetHeader::kBytes + kEthernetBytes; ++size) {
    const TrafficClass found = class_of(base::Bytes(frame).first(size));
    EXPECT_FALSE(found.priority.has_value() || found.code_point.has_value()) << size;
  }
  Bytes arp = make_frame({});
  arp[kIp - 2] = std::byte{0x08};
  arp[kIp - 1] = std::byte{0x06};
  EXPECT_FALSE(class_of(arp).code_point.has_value());
}

}  // namespace
}  // namespace splitnic::lan::traffic_class_test
