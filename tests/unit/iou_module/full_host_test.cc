// A host that cannot take more, and frames that no host can take.
#include "tests/unit/iou_module/unit_harness.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::iou::harness {
namespace {

TEST(FullHostTest, what_one_host_alone_cannot_take_waits_in_the_port_for_a_while) {
  constexpr std::uint32_t kFrames = 5000;
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  host.takes = false;
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    harness.lan().queue(frame_of(mac_number(1), kPeer, i, 0, 1500));
  }
  harness.run(10ms);
  EXPECT_FALSE(harness.unit->nics().at(0)->wants_input());
  EXPECT_LT(harness.count("lan.rx.frames"), kFrames);
  EXPECT_EQ(harness.count("lan.rx.drop.host_full"), 0U);
  host.takes = true;
  ASSERT_TRUE(harness.run_until([&] { return host.got.size() == kFrames; }, 20s));
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    ASSERT_EQ(host.got[i], frame_of(mac_number(1), kPeer, i, 0, 1500));
  }
  EXPECT_EQ(harness.count("lan.rx.drop.host_full"), 0U);
  // A host that takes nothing does not stop the LAN: the frames that it loses are counted.
  host.takes = false;
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    harness.lan().queue(frame_of(mac_number(1), kPeer, i, 0, 1500));
  }
  ASSERT_TRUE(harness.run_until([&] { return harness.count("lan.rx.frames") == 2 * kFrames; }, 5s));
  EXPECT_GT(harness.count("lan.rx.drop.host_full"), 0U);
}

// A message may be longer than any frame: it is dropped in any case.
TEST(FullHostTest, what_is_longer_than_any_frame_is_dropped) {
  UnitHarness harness({.pools = {{64, 2048}, {4, 1 << 20}}});
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  ASSERT_EQ(harness.vlan(host, CfgCode::kSetPvid, 7), CfgStatus::kOk);
  ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), 1, 0, 512 << 10)));
  harness.run(5ms);
  ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), 2)));
  ASSERT_TRUE(harness.run_until([&] { return !harness.written[0].empty(); }, 5s));
  EXPECT_EQ(harness.written[0].at(0), frame_of(kPeer, mac_number(1), 2, 7, 104));
  EXPECT_EQ(harness.count("iou.from_host.drop.vnet"), 1U);
}

// With others behind the same port the LAN does not wait for one of them.
TEST(FullHostTest, what_one_of_two_hosts_cannot_take_is_dropped) {
  constexpr std::uint32_t kFrames = 5000;
  UnitHarness harness;
  TestHost& slow = harness.add_host();
  TestHost& other = harness.add_host();
  ASSERT_TRUE(harness.attach(slow, mac_number(1)));
  ASSERT_TRUE(harness.attach(other, mac_number(2)));
  slow.takes = false;
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    harness.lan().queue(frame_of(mac_number(1), kPeer, i, 0, 1500));
  }
  harness.lan().queue(frame_of(mac_number(2), kPeer, 1));
  ASSERT_TRUE(harness.run_until([&] { return other.got.size() == 1; }, 20s));
  EXPECT_GT(harness.count("lan.rx.drop.host_full"), 0U);
}

}  // namespace
}  // namespace splitnic::iou::harness
