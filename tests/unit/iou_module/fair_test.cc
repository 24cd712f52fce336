// Several hosts wait for one LAN port that takes little at a time: each gets its share of the port
// by bytes, whatever the length of its frames [S001-08].
#include <map>

#include "lan_bridge/frame/wire_bytes.h"
#include "tests/unit/iou_module/unit_harness.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::iou::harness::fair_test {
namespace {

constexpr std::size_t kShare = 128 * 1024;

// Hosts with numbers from 1, each with frames of another length to send.
struct Contest : UnitHarness {
  explicit Contest(std::vector<std::size_t> frame_bytes) : lengths(std::move(frame_bytes)) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      hosts.push_back(&add_host());
      EXPECT_TRUE(attach(*hosts[i], mac_of(i)));
    }
  }
  static lan::MacAddress mac_of(std::size_t i) {
    return mac_number(static_cast<std::uint8_t>(1 + i));
  }
  // Pushes as many frames as the host can now.
  void fill(std::size_t i, std::size_t most = SIZE_MAX) {
    const Frame frame = frame_of(kPeer, mac_of(i), 0, 0, lengths[i]);
    for (std::size_t n = 0; n < most && sent[i] + frame.size() < 1'000'000; ++n) {
      if (!hosts[i]->push(frame)) return;
      sent[i] += base::round_up(frame.size(), std::size_t{64});
    }
  }
  // Runs iterations in which the port takes `frames` frames each. Returns the bytes that it took of
  // each host.
  std::map<std::size_t, std::size_t> let_through(std::size_t iterations, std::size_t frames) {
    written[0].clear();
    for (std::size_t i = 0; i < iterations; ++i) {
      lan().writes_left = frames;
      iterate();
    }
    lan().writes_left = 0;
    std::map<std::size_t, std::size_t> bytes;
    for (const Frame& frame : written[0]) {
      const auto source = lan::source_mac(base::Bytes(frame).subspan(lan::kVnetHeaderBytes));
      bytes[std::size_t{source[5]} - 1] += frame.size();
    }
    return bytes;
  }
  void wait_at_the_port() {
    lan().writes_left = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) fill(i);
    run(20ms);
  }

  const std::vector<std::size_t> lengths;
  std::vector<TestHost*> hosts;
  std::map<std::size_t, std::size_t> sent;
};

TEST(FairTest, S001_08_a_host_of_long_frames_gets_no_more_of_a_slow_lan_than_one_of_short_ones) {
  Contest contest({15'000, 1500});
  contest.wait_at_the_port();
  auto bytes = contest.let_through(100, 4);
  EXPECT_GT(bytes[0], 2 * kShare);
  EXPECT_LE(bytes[0], bytes[1] + kShare);
  EXPECT_LE(bytes[1], bytes[0] + kShare);
}

TEST(FairTest, S001_08_a_host_that_has_nothing_saves_nothing) {
  Contest contest({1500, 0, 1500});
  contest.lan().writes_left = 0;
  contest.fill(0);
  contest.fill(2);
  contest.run(20ms);
  auto bytes = contest.let_through(90, 10);
  EXPECT_EQ(bytes[0] + bytes[2], 900 * 1500U);
  EXPECT_LE(bytes[0], bytes[2] + kShare);
  EXPECT_LE(bytes[2], bytes[0] + kShare);
}

TEST(FairTest, S001_08_a_host_with_one_frame_waits_for_no_more_than_the_share_of_each_other_one) {
  Contest contest({15'000, 15'000, 100});
  contest.lan().writes_left = 0;
  contest.fill(0);
  contest.fill(1);
  contest.run(20ms);
  contest.let_through(3, 1);
  contest.fill(2, 1);
  contest.run(1ms);
  std::size_t others = 0;
  while (others < 10 * kShare) {
    auto bytes = contest.let_through(1, 1);
    if (bytes[2] > 0) break;
    others += bytes[0] + bytes[1];
  }
  EXPECT_LE(others, 2 * kShare);
}

// A host that sent alone is not charged for it later, and saves nothing either.
TEST(FairTest, S001_08_shares_are_even_from_when_the_second_host_comes) {
  Contest contest({15'000, 1500});
  contest.lan().writes_left = 0;
  contest.fill(0, 40);
  contest.run(20ms);
  contest.let_through(2, 10);
  contest.fill(1);
  contest.fill(0);
  contest.run(20ms);
  auto bytes = contest.let_through(60, 4);
  EXPECT_LE(bytes[0], bytes[1] + kShare);
  EXPECT_LE(bytes[1], bytes[0] + kShare);
}

// 60 KiB in segments of 128 bytes are 100 KiB on the wire.
TEST(FairTest, H_3_a_host_of_tiny_segments_gets_its_share_of_the_wire_and_no_more) {
  Contest contest({1500, 1500});
  cfg::InitNicRequest init;
  init.set_features_wanted(lan::kOffloadVnet | lan::kOffloadChecksum | lan::kOffloadTso4);
  ASSERT_EQ(contest.ask(*contest.hosts[0], CfgCode::kInitNic, init).status, CfgStatus::kOk);
  ASSERT_TRUE(contest.start(*contest.hosts[0]));
  const Frame tiny = lan::frame_builder::make_frame({.payload_bytes = 500 * 128,
                                                     .tcp_option_bytes = 0,
                                                     .gso_size = 128,
                                                     .destination = kPeer,
                                                     .source = Contest::mac_of(0)});
  contest.lan().writes_left = 0;
  for (int i = 0; i < 15; ++i) contest.hosts[0]->push(tiny);
  contest.fill(1);
  contest.run(20ms);
  std::map<std::uint8_t, std::size_t> bytes;
  const auto is_waiting = [&] { return bytes[1] < 900'000 && bytes[2] < 900'000; };
  for (int i = 0; i < 2000 && is_waiting(); ++i) {
    contest.let_through(1, 1);
    for (const Frame& frame : contest.written[0]) {
      const auto source = lan::source_mac(base::Bytes(frame).subspan(lan::kVnetHeaderBytes));
      const std::size_t segments = frame.size() > 2000 ? 500 : 1;
      bytes[source[5]] +=
          frame.size() - lan::kVnetHeaderBytes + segments * 24 + (segments - 1) * 54;
    }
  }
  // One share, and one frame that did not fit into it.
  EXPECT_FALSE(is_waiting());
  EXPECT_LE(bytes[1], bytes[2] + 2 * kShare);
  EXPECT_LE(bytes[2], bytes[1] + 2 * kShare);
}

TEST(FairTest, S001_08_a_blocked_lan_holds_up_no_frame_from_one_host_to_another) {
  UnitHarness harness;
  TestHost& blocked = harness.add_host();
  TestHost& host = harness.add_host();
  TestHost& other = harness.add_host();
  std::uint8_t number = 1;
  for (TestHost* one : {&blocked, &host, &other}) {
    ASSERT_TRUE(harness.attach(*one, mac_number(number++)));
  }
  harness.lan().writes_blocked = true;
  ASSERT_TRUE(blocked.push(frame_of(kPeer, mac_number(1))));
  harness.run(5ms);
  constexpr std::uint32_t kFrames = 200;  // several batches
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    ASSERT_TRUE(host.push(frame_of(mac_number(3), mac_number(2), i)));
  }
  ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(2))));
  ASSERT_TRUE(host.push(frame_of(mac_number(3), mac_number(2), kFrames + 1)));
  harness.run(5ms);
  EXPECT_GE(other.got.size(), kFrames);
  harness.lan().writes_blocked = false;
  harness.run(5ms);
  EXPECT_EQ(other.got.size(), kFrames + 1);
  EXPECT_EQ(harness.written[0].size(), 2U);
  EXPECT_EQ(harness.lan().changed_frames(), 0U);
}

}  // namespace
}  // namespace splitnic::iou::harness::fair_test
