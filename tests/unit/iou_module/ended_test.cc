// A connection that ends with frames in flight: each frame is counted once, by what happened to it.
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::ended_test {
namespace {

constexpr std::size_t kFrames = 5;

std::uint64_t dropped(const UnitHarness& harness, std::string_view prefix) {
  std::uint64_t sum = 0;
  harness.unit->visit_counters([&](std::string_view name, std::uint64_t value) {
    sum += name.starts_with(prefix) ? value : 0;
  });
  return sum;
}

TEST(EndedTest, S001_14_what_arrived_and_was_not_written_to_the_lan_is_counted) {
  for (const auto mode : {messaging::Mode::kRdma, messaging::Mode::kSend}) {
    UnitHarness harness;
    TestHost& host = harness.add_host({.mode = mode});
    ASSERT_TRUE(harness.attach(host, mac_number(1)));
    harness.lan().writes_blocked = true;
    for (std::uint32_t i = 0; i < kFrames; ++i) {
      ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), i)));
    }
    // More than one batch receives.
    for (std::uint32_t i = 0; i < 80; ++i) {
      ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), i)));
    }
    harness.run(5ms);
    host.end();
    harness.lan().forget_refused();
    harness.run(5ms);
    ASSERT_TRUE(harness.unit->hosts().empty());
    EXPECT_EQ(harness.count("iou.from_host.frames"), kFrames + 80);
    EXPECT_EQ(harness.count("iou.from_host.drop.ended"), kFrames + 80);
    EXPECT_EQ(harness.count("lan.tx.frames"), 0U);
  }
}

TEST(EndedTest, S001_14_a_frame_that_has_a_name_already_is_not_counted_twice) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  harness.lan().writes_blocked = true;
  ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), 1)));
  ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(7), 2)));
  ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), 3)));
  harness.run(5ms);
  EXPECT_EQ(harness.count("iou.from_host.drop.spoof"), 1U);
  host.end();
  harness.lan().forget_refused();
  harness.run(5ms);
  EXPECT_EQ(harness.count("iou.from_host.frames"), 3U);
  EXPECT_EQ(harness.count("iou.from_host.drop.spoof"), 1U);
  EXPECT_EQ(harness.count("iou.from_host.drop.ended"), 2U);
}

TEST(EndedTest, S001_14_what_waited_for_an_element_is_dropped_and_not_lost) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  host.takes = false;
  constexpr std::uint32_t kQueued = 1900;
  for (std::uint32_t i = 0; i < kQueued; ++i)
    harness.lan().queue(frame_of(mac_number(1), kPeer, i));
  harness.run(50ms);
  const std::size_t arrived = host.pair->unreceived();
  ASSERT_GT(arrived, 0U);
  ASSERT_LT(arrived, kQueued) << "some have to wait";
  host.end();
  harness.run(5ms);
  ASSERT_TRUE(harness.unit->hosts().empty());
  EXPECT_EQ(harness.count("lan.rx.frames"), kQueued);
  EXPECT_EQ(harness.count("iou.to_host.frames"), arrived);
  EXPECT_EQ(harness.count("iou.to_host.lost"), 0U);
  EXPECT_GT(harness.count("lan.rx.drop.ended"), 0U);
  EXPECT_EQ(dropped(harness, "lan.rx.drop."), kQueued - arrived);
}

TEST(EndedTest, S001_14_what_was_pushed_and_not_acknowledged_is_lost) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  host.faults.set_cut(true);
  for (std::uint32_t i = 0; i < kFrames; ++i)
    harness.lan().queue(frame_of(mac_number(1), kPeer, i));
  harness.run(5ms);
  EXPECT_EQ(harness.count("iou.to_host.frames"), kFrames);
  harness.run(61s);
  ASSERT_TRUE(harness.unit->hosts().empty());
  EXPECT_EQ(harness.count("iou.to_host.lost"), kFrames);
  EXPECT_EQ(harness.count("lan.rx.drop.ended"), 0U);
  EXPECT_EQ(dropped(harness, "lan.rx.drop."), 0U);
}

}  // namespace
}  // namespace splitnic::iou::harness::ended_test
