// Frames between a LAN and its hosts: VLANs, bursts, and what happens at a clean stop.
#include "control/daemon/module.h"
#include "tests/unit/iou_module/unit_harness.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::iou::harness {
namespace {

TEST(FramesTest, S001_25_frames_of_unlisted_vlans_do_not_come_to_the_host) {
  for (const bool is_alone : {true, false}) {
    TwoHosts harness(is_alone);
    TestHost& host = harness.host;
    ASSERT_EQ(harness.vlan(host, CfgCode::kVlanAdd, 5), CfgStatus::kOk);
    const std::vector<Frame> sent{
        frame_of(mac_number(1), kPeer, 1), frame_of(mac_number(1), kPeer, 2, 5),
        frame_of(mac_number(1), kPeer, 3, 6), frame_of(kBroadcast, kPeer, 4, 6)};
    for (const Frame& frame : sent) harness.lan().queue(frame);
    harness.run(5ms);
    EXPECT_EQ(host.got, (std::vector<Frame>{sent[0], sent[1]}));
    EXPECT_EQ(harness.count("lan.rx.drop.vlan"), 2U);
    EXPECT_EQ(harness.count("host.host1.lan.rx.drop.vlan"), 2U);
    EXPECT_EQ(harness.count("lan.rx.drop.no_host"), 0U);
    if (!is_alone) {
      EXPECT_EQ(harness.other.got, std::vector<Frame>{sent[3]}) << "it has no list";
    }
    ASSERT_EQ(harness.vlan(host, CfgCode::kVlanDel, 5), CfgStatus::kOk);
    harness.lan().queue(sent[2]);
    harness.run(5ms);
    EXPECT_EQ(host.got.back(), sent[2]) << "no list: all pass";
    // Frames that it sends are not filtered: the list is about received frames.
    ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), 9, 6)));
    harness.run(5ms);
    EXPECT_EQ(harness.written[0].size(), 1U);
  }
}

TEST(FramesTest, S001_25_a_pvid_tags_what_leaves_and_untags_what_comes) {
  for (const bool is_alone : {true, false}) {
    TwoHosts harness(is_alone);
    TestHost& host = harness.host;
    ASSERT_EQ(harness.vlan(host, CfgCode::kSetPvid, 7), CfgStatus::kOk);
    ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), 1, 0, 96)));
    ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), 2, 8)));
    harness.run(5ms);
    EXPECT_EQ(harness.written[0], (std::vector<Frame>{frame_of(kPeer, mac_number(1), 1, 7, 100),
                                                      frame_of(kPeer, mac_number(1), 2, 8)}));
    harness.lan().queue(frame_of(mac_number(1), kPeer, 3, 7, 100));
    harness.lan().queue(frame_of(mac_number(1), kPeer, 4));
    harness.lan().queue(frame_of(mac_number(1), kPeer, 5, 8));
    harness.run(5ms);
    EXPECT_EQ(host.got, (std::vector<Frame>{frame_of(mac_number(1), kPeer, 3, 0, 96),
                                            frame_of(mac_number(1), kPeer, 5, 8)}));
    EXPECT_EQ(harness.count("lan.rx.drop.vlan"), 1U);
    // The ring is still released in order.
    for (std::uint32_t i = 0; i < 20'000; ++i) {
      harness.lan().queue(frame_of(mac_number(1), kPeer, i, 7, 1000));
    }
    host.got.clear();
    ASSERT_TRUE(harness.run_until(
        [&] { return host.got.size() + harness.count("lan.rx.drop.host_full") == 20'000; }, 20s));
    EXPECT_EQ(harness.count("iou.to_host.frames"), 2 + host.got.size());
    for (const Frame& frame : host.got) ASSERT_EQ(frame.size(), 996U);
    harness.run(5ms);
    EXPECT_EQ(harness.unit->hosts().at(0)->tx().queue().ring().frames(), 0U)
        << "what was dropped is free too";
    harness.lan().queue(frame_of(mac_number(1), kPeer, 6, 7, 100));
    harness.run(5ms);
    EXPECT_EQ(host.got.back(), frame_of(mac_number(1), kPeer, 6, 0, 96));
  }
}

// A peer on this machine replies while the frame is written to it. Until then the LAN is not
// readable.
TEST(FramesTest, a_reply_that_a_frame_brings_is_read_in_the_same_step) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  harness.run(5ms);
  const Frame reply = frame_of(mac_number(1), kPeer, 2);
  harness.lan().on_write = [&](base::Bytes) { harness.lan().queue(reply); };
  ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), 1)));
  host.step();
  harness.unit->step(harness.clock.now(), false);
  EXPECT_EQ(harness.count("lan.rx.frames"), 1U);
  EXPECT_EQ(harness.lan().queued(), 0U);
  host.got.clear();
  host.step();
  EXPECT_EQ(host.got, std::vector<Frame>{reply}) << "it left in that step";
  harness.lan().queue(reply);
  harness.unit->step(harness.clock.now(), false);
  EXPECT_EQ(harness.lan().queued(), 1U) << "nothing was written, and the LAN is not readable";
}

TEST(FramesTest, S001_25_two_hosts_of_one_vlan_reach_each_other) {
  UnitHarness harness;
  TestHost& access = harness.add_host();
  TestHost& trunk = harness.add_host();
  TestHost& stranger = harness.add_host();
  ASSERT_TRUE(harness.attach(access, mac_number(1)));
  ASSERT_TRUE(harness.attach(trunk, mac_number(2)));
  ASSERT_TRUE(harness.attach(stranger, mac_number(3)));
  ASSERT_EQ(harness.vlan(access, CfgCode::kSetPvid, 7), CfgStatus::kOk);
  ASSERT_EQ(harness.vlan(stranger, CfgCode::kVlanAdd, 8), CfgStatus::kOk);
  ASSERT_TRUE(access.push(frame_of(kBroadcast, mac_number(1), 1, 0, 96)));
  ASSERT_TRUE(access.push(frame_of(mac_number(2), mac_number(1), 2, 0, 96)));
  harness.run(5ms);
  EXPECT_EQ(trunk.got, (std::vector<Frame>{frame_of(kBroadcast, mac_number(1), 1, 7, 100),
                                           frame_of(mac_number(2), mac_number(1), 2, 7, 100)}));
  EXPECT_TRUE(stranger.got.empty());
  EXPECT_EQ(harness.written[0].size(), 1U) << "the broadcast";
  ASSERT_TRUE(trunk.push(frame_of(mac_number(1), mac_number(2), 3, 7, 100)));
  harness.run(5ms);
  EXPECT_EQ(access.got, std::vector<Frame>{frame_of(mac_number(1), mac_number(2), 3, 0, 96)});
}

TEST(FramesTest, vlan_ids_out_of_range_change_nothing) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  const std::string before = harness.digest(host);
  for (const CfgCode code : {CfgCode::kVlanAdd, CfgCode::kVlanDel, CfgCode::kSetPvid}) {
    EXPECT_EQ(harness.vlan(host, code, 4095), CfgStatus::kBadValue);
    EXPECT_EQ(harness.vlan(host, code, 65541), CfgStatus::kBadValue);
  }
  EXPECT_EQ(harness.digest(host), before);
}

TEST(FramesTest, S001_26_a_burst_in_send_mode_finds_its_slots) {
  UnitHarness harness;
  TestHost& host = harness.add_host({.mode = messaging::Mode::kSend});
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  constexpr std::uint32_t kFrames = 2000;
  std::uint32_t pushed = 0;
  for (int i = 0; i < 100'000 && harness.written[0].size() < kFrames; ++i) {
    while (pushed < kFrames && host.push(frame_of(kPeer, mac_number(1), pushed))) ++pushed;
    harness.iterate();
    harness.clock.advance(10us);
  }
  EXPECT_EQ(pushed, kFrames);
  EXPECT_EQ(harness.written[0].size(), kFrames);
  EXPECT_EQ(harness.count("fabric.drop.no_receive"), 0U);
  EXPECT_EQ(harness.count("msg.drop.no_slot"), 0U);
  EXPECT_EQ(harness.count("msg.rx.send_data"), kFrames) << "the pairs' counters are the unit's";
  host.end();
  harness.run(5ms);
  EXPECT_TRUE(harness.unit->hosts().empty());
  EXPECT_EQ(harness.count("msg.rx.send_data"), kFrames) << "and stay when the host has gone";
}

TEST(FramesTest, S001_08_one_host_does_not_take_the_whole_iteration) {
  TwoHosts harness;
  TestHost& greedy = harness.host;
  TestHost& other = harness.other;
  harness.lan().writes_blocked = true;
  for (std::uint32_t i = 0; i < 900; ++i) {
    ASSERT_TRUE(greedy.push(frame_of(kPeer, mac_number(1), i)));
  }
  ASSERT_TRUE(other.push(frame_of(kPeer, mac_number(2))));
  harness.run(20ms);
  harness.lan().writes_blocked = false;
  harness.iterate();
  const std::vector<Frame>& written = harness.written[0];
  EXPECT_GT(written.size(), 500U) << "more than a batch";
  EXPECT_LT(written.size(), 600U) << "not all of it";
  EXPECT_EQ(std::ranges::count(written, frame_of(kPeer, mac_number(2))), 1);
  ASSERT_TRUE(harness.run_until([&] { return written.size() == 901; }));
}

// A frame for another host lies behind one that the LAN does not take now.
TEST(FramesTest, a_frame_for_another_host_is_given_once_while_the_lan_is_blocked) {
  TwoHosts harness;
  TestHost& host = harness.host;
  TestHost& other = harness.other;
  harness.lan().writes_blocked = true;
  ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), 1)));
  ASSERT_TRUE(host.push(frame_of(kBroadcast, mac_number(1), 2)));
  ASSERT_TRUE(host.push(frame_of(mac_number(2), mac_number(1), 3)));
  ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(9), 4)));
  harness.run(5ms);
  harness.lan().writes_blocked = false;
  harness.run(5ms);
  EXPECT_EQ(harness.written[0].size(), 2U);
  EXPECT_EQ(other.got, (std::vector<Frame>{frame_of(kBroadcast, mac_number(1), 2),
                                           frame_of(mac_number(2), mac_number(1), 3)}));
  EXPECT_EQ(harness.count("iou.host_to_host"), 1U);
  EXPECT_EQ(harness.count("iou.from_host.drop.spoof"), 1U);
  EXPECT_EQ(harness.count("iou.from_host.frames"), 4U);
}

// The verdict of a frame that waits for the LAN holds, however the settings change meanwhile.
struct Change {
  const char* name;
  void (*make)(UnitHarness& harness, TestHost& host, TestHost& other);
};
constexpr std::array kChanges{
    Change{"nothing", [](UnitHarness&, TestHost&, TestHost&) {}},
    Change{"stopped",
           [](UnitHarness& harness, TestHost& host, TestHost&) {
             EXPECT_EQ(harness.ask(host, CfgCode::kStop).status, CfgStatus::kOk);
           }},
    Change{"another address",
           [](UnitHarness& harness, TestHost& host, TestHost&) {
             EXPECT_EQ(harness.set_mac(host, mac_number(9)), CfgStatus::kOk);
           }},
    Change{"promiscuous",
           [](UnitHarness& harness, TestHost& host, TestHost&) {
             cfg::SetFilterRequest filter;
             filter.mutable_filter()->set_promiscuous(true);
             EXPECT_EQ(harness.ask(host, CfgCode::kSetFilter, filter).status, CfgStatus::kOk);
           }},
    Change{"a PVID",
           [](UnitHarness& harness, TestHost& host, TestHost&) {
             EXPECT_EQ(harness.vlan(host, CfgCode::kSetPvid, 7), CfgStatus::kOk);
           }},
    Change{"its destination is a host's now",
           [](UnitHarness& harness, TestHost&, TestHost& other) {
             EXPECT_EQ(harness.set_mac(other, kPeer), CfgStatus::kOk);
           }},
    Change{"and that of the other frame is no host's",
           [](UnitHarness& harness, TestHost&, TestHost& other) {
             EXPECT_EQ(harness.set_mac(other, mac_number(8)), CfgStatus::kOk);
           }},
};

TEST(FramesTest, S001_25_a_frame_that_waits_for_the_lan_is_checked_once) {
  for (const Change& change : kChanges) {
    SCOPED_TRACE(change.name);
    const SameRights rights({.may_sniff = true});
    UnitHarness harness({.rights = &rights});
    TestHost& host = harness.add_host();
    TestHost& other = harness.add_host();
    ASSERT_TRUE(harness.attach(host, mac_number(1)));
    ASSERT_TRUE(harness.attach(other, mac_number(2)));
    harness.lan().writes_blocked = true;
    // All are checked before the LAN takes one: the one that is not for the LAN comes last.
    const Frame to_lan = frame_of(kPeer, mac_number(1), 1);
    const Frame to_all = frame_of(kBroadcast, mac_number(1), 2);
    const Frame to_other = frame_of(mac_number(2), mac_number(1), 3);
    for (const Frame& frame : {to_lan, to_all, to_other}) ASSERT_TRUE(host.push(frame));
    harness.run(5ms);
    change.make(harness, host, other);
    harness.run(5ms);
    EXPECT_TRUE(harness.written[0].empty());
    harness.lan().writes_blocked = false;
    harness.run(5ms);
    EXPECT_EQ(harness.written[0], (std::vector<Frame>{to_lan, to_all}));
    EXPECT_EQ(harness.lan().changed_frames(), 0U);
    EXPECT_EQ(other.got, (std::vector<Frame>{to_all, to_other}));
    EXPECT_EQ(harness.count("iou.host_to_host"), 1U);
    EXPECT_EQ(harness.count("lan.tx.frames"), 2U);
    EXPECT_EQ(harness.count("iou.from_host.frames"), 3U);
    EXPECT_EQ(harness.count("iou.from_host.drop.spoof"), 0U);
    EXPECT_EQ(harness.count("iou.from_host.drop.stopped"), 0U);
    EXPECT_EQ(harness.count("iou.from_host.drop.away"), 0U);
  }
}

// A frame keeps the tag of the PVID, and a dropped frame stays dropped and is counted once.
TEST(FramesTest, S001_25_a_frame_that_waits_keeps_its_tag_and_a_dropped_one_stays_dropped) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  ASSERT_EQ(harness.vlan(host, CfgCode::kSetPvid, 7), CfgStatus::kOk);
  harness.lan().writes_blocked = true;
  ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), 1, 0, 96)));
  ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(9), 2, 0, 96)));
  harness.run(5ms);
  EXPECT_EQ(harness.count("iou.from_host.drop.spoof"), 1U);
  ASSERT_EQ(harness.vlan(host, CfgCode::kSetPvid, 8), CfgStatus::kOk);
  ASSERT_EQ(harness.set_mac(host, mac_number(9)), CfgStatus::kOk);
  harness.run(5ms);
  harness.lan().writes_blocked = false;
  harness.run(5ms);
  EXPECT_EQ(harness.written[0], std::vector<Frame>{frame_of(kPeer, mac_number(1), 1, 7, 100)});
  EXPECT_EQ(harness.lan().changed_frames(), 0U);
  EXPECT_EQ(harness.count("iou.from_host.drop.spoof"), 1U);
  EXPECT_EQ(harness.count("iou.from_host.frames"), 2U);
  // The next frame is checked with the new settings.
  ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(9), 3, 0, 96)));
  harness.run(5ms);
  EXPECT_EQ(harness.written[0].back(), frame_of(kPeer, mac_number(9), 3, 8, 100));
}

TEST(FramesTest, F_51_what_was_accepted_arrives_before_a_clean_stop) {
  for (const auto mode : {messaging::Mode::kRdma, messaging::Mode::kSend}) {
    UnitHarness harness;
    TestHost& host = harness.add_host({.mode = mode});
    ASSERT_TRUE(harness.attach(host, mac_number(1)));
    harness.lan().writes_blocked = true;
    for (std::uint32_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), i)));
      harness.lan().queue(frame_of(mac_number(1), kPeer, i));
    }
    ASSERT_TRUE(harness.run_until([&] { return harness.count("lan.rx.frames") == 100; }));
    host.takes = false;
    harness.run(2ms);
    harness.unit->begin_stop();
    harness.lan().queue(frame_of(mac_number(1), kPeer, 1000));
    harness.run(2ms);
    EXPECT_FALSE(harness.unit->is_drained()) << "the LAN did not take the frames yet";
    EXPECT_EQ(harness.lan().queued(), 1U) << "nothing more is read";
    harness.lan().writes_blocked = false;
    host.takes = true;
    ASSERT_TRUE(harness.run_until([&] { return harness.unit->is_drained(); }, control::kStopMax));
    EXPECT_EQ(harness.written[0].size(), 100U);
    harness.unit->stop(harness.clock.now());
    harness.run(2ms);
    EXPECT_EQ(host.got.size(), 100U);
    EXPECT_EQ(host.refusal, "the peer disconnected");
    EXPECT_EQ(harness.count("iou.to_host.lost"), 0U);
    host.connect();
    harness.run(5ms);
    EXPECT_FALSE(host.up());
  }
}

// A TCP super-frame of five segments from this host to the peer.
Frame super_frame(const lan::MacAddress& from) {
  Frame frame = lan::frame_builder::make_frame({.payload_bytes = 4500, .gso_size = 1000});
  const Frame addresses = frame_of(kPeer, from);
  std::copy_n(addresses.begin() + lan::kVnetHeaderBytes, 12, frame.begin() + lan::kVnetHeaderBytes);
  return frame;
}

TEST(FramesTest, F_51_what_the_port_has_begun_to_split_goes_out_before_a_stop) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  cfg::InitNicRequest init;
  init.set_features_wanted(lan::kOffloadVnet | lan::kOffloadChecksum | lan::kOffloadTso4);
  ASSERT_EQ(harness.ask(host, CfgCode::kInitNic, init).status, CfgStatus::kOk);
  ASSERT_EQ(harness.vlan(host, CfgCode::kSetPvid, 7), CfgStatus::kOk);
  harness.lan().has_software_gso = true;
  harness.lan().writes_left = 2;
  ASSERT_TRUE(host.push(super_frame(mac_number(1))));
  harness.run(5ms);
  EXPECT_EQ(harness.written[0].size(), 2U);
  EXPECT_TRUE(harness.unit->nics()[0]->wants_output());
  harness.unit->begin_stop();
  harness.run(2ms);
  EXPECT_FALSE(harness.unit->is_drained());
  harness.lan().writes_left = SIZE_MAX;
  ASSERT_TRUE(harness.run_until([&] { return harness.unit->is_drained(); }, control::kStopMax));
  ASSERT_EQ(harness.written[0].size(), 5U);
  for (const Frame& piece : harness.written[0]) {
    // Each has the tag of the PVID and then a correct checksum.
    const base::Bytes ethernet = base::Bytes(piece).subspan(lan::kVnetHeaderBytes);
    const auto layout = lan::parse_frame(ethernet);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->tags, 1);
    EXPECT_EQ(layout->tci, 7);
    EXPECT_TRUE(lan::verify_l4_checksum(ethernet, *layout));
  }
}

TEST(FramesTest, F_51_a_host_that_is_away_does_not_hold_up_a_stop) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  host.faults.set_cut(true);
  harness.run(1s);
  harness.unit->begin_stop();
  harness.iterate();
  EXPECT_TRUE(harness.unit->is_drained());
}

}  // namespace
}  // namespace splitnic::iou::harness
