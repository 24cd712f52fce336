// Frames that have to be split for a host, among others in the same ring.
#include <gtest/gtest.h>

#include "tests/unit/iou_module/unit_harness.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::iou::split_test {
namespace {

using namespace std::chrono_literals;
using harness::Frame;
using harness::TestHost;
using harness::UnitHarness;

constexpr std::size_t kNumberAt = lan::kVnetHeaderBytes + lan::kEthernetBytes;

Frame numbered(const lan::MacAddress& to, std::uint32_t number) {
  Frame frame = harness::frame_of(to, harness::kPeer, number, 0, 1500);
  for (std::size_t i = kNumberAt + 4; i < frame.size(); ++i) {
    frame[i] = static_cast<std::byte>(number * 31 + i);
  }
  return frame;
}

// The host takes no offloads, so each super-frame becomes many; more than the ring holds passes.
TEST(SplitTest, S001_28_what_lies_behind_a_split_frame_stays_unchanged) {
  UnitHarness harness;
  TestHost& host = harness.add_host({.pools = {{16, 2048}}});
  const lan::MacAddress mac = harness::mac_number(1);
  ASSERT_TRUE(harness.attach(host, mac));
  std::uint32_t number = 0;
  for (int batch = 0; batch < 150; ++batch) {
    lan::frame_builder::Spec spec;
    spec.destination = mac;
    spec.payload_bytes = 30000;
    spec.gso_size = 1448;
    spec.seed = static_cast<std::uint32_t>(batch + 1);
    harness.lan().queue(lan::frame_builder::make_frame(spec));
    for (int i = 0; i < 30; ++i) harness.lan().queue(numbered(mac, number++));
  }
  // Few elements: frames wait in the ring while others are read behind them.
  harness.run(1s);
  std::size_t segments = 0;
  std::int64_t last = -1;
  std::size_t plain = 0;
  for (const Frame& frame : host.got) {
    if (base::load_be<std::uint16_t>(frame.data() + kNumberAt - 2) != 0x88B5) {
      ++segments;
      continue;
    }
    const auto n = base::load_be<std::uint32_t>(frame.data() + kNumberAt);
    ASSERT_EQ(frame, numbered(mac, n)) << "frame " << n << " behind " << last;
    ASSERT_GT(std::int64_t{n}, last) << "out of order";
    last = n;
    ++plain;
  }
  EXPECT_GT(segments, 100U);
  EXPECT_GT(plain, 500U);
  EXPECT_EQ(harness.count("lan.rx.frames") + harness.count("iou.to_host.split"),
            harness.count("iou.to_host.frames") + harness.count("lan.rx.drop.host_full"));
}

// The kernel leaves the checksum of frames to the NIC; a host without offloads has none.
TEST(SplitTest, P_DATA_19_a_checksum_is_finished_for_a_host_that_takes_none) {
  UnitHarness harness;
  TestHost& host = harness.add_host({.pools = {{16, 2048}}});
  const lan::MacAddress mac = harness::mac_number(1);
  ASSERT_TRUE(harness.attach(host, mac));
  lan::frame_builder::Spec spec;
  spec.destination = mac;
  spec.is_partial = true;
  const lan::frame_builder::Bytes sent = lan::frame_builder::make_frame(spec);
  ASSERT_TRUE(lan::VnetHeader::parse(sent).needs_checksum());
  for (int i = 0; i < 40; ++i) harness.lan().queue(sent);
  harness.run(1s);
  ASSERT_EQ(host.got.size(), 40U);
  for (const Frame& frame : host.got) {
    EXPECT_EQ(lan::VnetHeader::parse(frame), lan::VnetHeader());
    const base::Bytes ethernet = base::Bytes(frame).subspan(lan::kVnetHeaderBytes);
    EXPECT_TRUE(lan::verify_l4_checksum(ethernet, *lan::parse_frame(ethernet)));
  }
  EXPECT_EQ(harness.count("lan.rx.drop.too_long"), 0U);
}

}  // namespace
}  // namespace splitnic::iou::split_test
