#include "lan_bridge/frame/flow_fields.h"

#include <gtest/gtest.h>

#include "base/endian.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::lan::flow_fields_test {
namespace {

using frame_builder::Bytes;
using frame_builder::make_frame;
using frame_builder::Spec;

constexpr std::size_t kIp = VnetHeader::kBytes + kEthernetBytes;

// The fields as they stand in the frame.
FlowFields expected(const Bytes& frame, bool is_ip6, std::size_t tags = 0) {
  const std::size_t ip = kIp + tags * kVlanTagBytes;
  const std::size_t ports = ip + (is_ip6 ? 40 : 20);
  return {base::load_be<std::uint16_t>(&frame[ports]),
          base::load_be<std::uint16_t>(&frame[ports + 2]),
          is_ip6 ? 0U : base::load_be<std::uint32_t>(&frame[ip + 12])};
}

TEST(FlowFieldsTest, S001_52_ports_and_the_address_of_the_sender) {
  for (const bool is_udp : {false, true}) {
    for (const bool is_ip6 : {false, true}) {
      const Bytes frame = make_frame({.is_ip6 = is_ip6, .is_udp = is_udp});
      EXPECT_EQ(flow_fields_of(frame), expected(frame, is_ip6));
      EXPECT_NE(flow_fields_of(frame).source_port, 0);
    }
    const Bytes tagged = make_frame({.is_udp = is_udp, .tags = {5}});
    EXPECT_EQ(flow_fields_of(tagged), expected(tagged, false, 1));
  }
}

TEST(FlowFieldsTest, S001_52_what_a_frame_does_not_have_is_0) {
  Bytes fragment = make_frame({.is_udp = true, .payload_bytes = 64});
  base::store_be<std::uint16_t>(&fragment[kIp + 6], 0x2000);  // more fragments
  EXPECT_EQ(flow_fields_of(fragment).source_port, 0);
  EXPECT_EQ(flow_fields_of(fragment).destination_port, 0);
  EXPECT_NE(flow_fields_of(fragment).source_address, 0U);
  const Bytes frame = make_frame({.is_udp = true});
  for (std::size_t bytes = 0; bytes < kIp + 4; ++bytes) {
    EXPECT_EQ(flow_fields_of(base::Bytes(frame).first(bytes)), FlowFields{}) << bytes;
  }
}

}  // namespace
}  // namespace splitnic::lan::flow_fields_test
