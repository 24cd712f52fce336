// Several LANs on one unit: hosts of different NICs share nothing but the unit.
#include "messaging/any_nic.h"
#include "tests/unit/iou_module/rights_fixture.h"
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness {
namespace {

TEST(NicsTest, S001_08_each_host_hears_its_own_lan_only) {
  UnitHarness harness({.nics = 2});
  TestHost& first = harness.add_host();
  TestHost& second = harness.add_host({.nic = 1});
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  harness.lan(0).queue(frame_of(kBroadcast, kPeer, 10));
  harness.lan(1).queue(frame_of(kBroadcast, kPeer, 20));
  harness.lan(0).queue(frame_of(mac_number(2), kPeer, 11));
  harness.run(5ms);
  ASSERT_EQ(first.got.size(), 1U);
  EXPECT_EQ(first.got[0], frame_of(kBroadcast, kPeer, 10));
  ASSERT_EQ(second.got.size(), 1U);
  EXPECT_EQ(second.got[0], frame_of(kBroadcast, kPeer, 20));
  EXPECT_EQ(harness.count("lan.rx.frames"), 2U);
  EXPECT_EQ(harness.count("lan.rx.drop.no_host"), 1U) << "that host is on another LAN";
  EXPECT_EQ(harness.count("lan1.rx.frames"), 1U);
  EXPECT_EQ(harness.count("lan1.rx.drop.no_host"), 0U);
}

TEST(NicsTest, S001_08_hosts_of_two_nics_meet_through_the_lans_only) {
  UnitHarness harness({.nics = 2});
  TestHost& first = harness.add_host();
  TestHost& second = harness.add_host({.nic = 1});
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  const std::vector<Frame> sent{frame_of(mac_number(2), mac_number(1), 1),
                                frame_of(kBroadcast, mac_number(1), 2)};
  for (const Frame& frame : sent) ASSERT_TRUE(first.push(frame));
  harness.run(5ms);
  EXPECT_EQ(harness.written[0], sent);
  EXPECT_TRUE(harness.written[1].empty());
  EXPECT_TRUE(second.got.empty());
  EXPECT_EQ(harness.count("iou.host_to_host"), 0U);
  EXPECT_EQ(harness.count("lan.tx.frames"), 2U);
  EXPECT_EQ(harness.count("lan1.tx.frames"), 0U);
  EXPECT_EQ(harness.count("lan1.port.tx.frames"), 0U);
  EXPECT_TRUE(harness.has_counter("lan1.rx.drop.host_full"));
}

TEST(NicsTest, the_same_address_may_be_on_two_lans) {
  UnitHarness harness({.nics = 2});
  TestHost& first = harness.add_host();
  TestHost& second = harness.add_host({.nic = 1});
  TestHost& third = harness.add_host({.nic = 1});
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(1)));
  ASSERT_TRUE(harness.attach(third, mac_number(3)));
  EXPECT_EQ(harness.set_mac(third, mac_number(1)), CfgStatus::kNotPermitted);
  harness.lan(1).queue(frame_of(mac_number(1), kPeer));
  harness.run(5ms);
  EXPECT_EQ(second.got.size(), 1U);
  EXPECT_TRUE(first.got.empty());
}

TEST(NicsTest, link_and_mtu_are_those_of_the_hosts_own_lan) {
  UnitHarness harness({.nics = 2});
  harness.lan(1).mutable_state().mtu = 9000;
  harness.start_unit();
  TestHost& first = harness.add_host();
  TestHost& second = harness.add_host({.nic = 1});
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  cfg::InitNicRequest init;
  init.set_features_wanted(lan::kOffloadVnet);
  cfg::InitNicReply reply;
  ASSERT_TRUE(reply.ParseFromString(harness.ask(second, CfgCode::kInitNic, init).data));
  EXPECT_EQ(reply.mtu(), 9000U);
  EXPECT_EQ(reply.mac(), bytes(harness.lan(1).state().mac));
  harness.lan(1).mutable_state().link_up = false;
  for (const auto& nic : harness.unit->nics()) nic->on_event();
  harness.run(5ms);
  EXPECT_EQ(first.events, 0U);
  EXPECT_EQ(second.events, 1U);
  cfg::GetLinkReply link;
  ASSERT_TRUE(link.ParseFromString(harness.ask(first, CfgCode::kGetLink).data));
  EXPECT_TRUE(link.link().up());
  ASSERT_TRUE(link.ParseFromString(harness.ask(second, CfgCode::kGetLink).data));
  EXPECT_FALSE(link.link().up());
}

TEST(NicsTest, a_blocked_lan_holds_up_its_own_hosts_only) {
  UnitHarness harness({.nics = 2});
  TestHost& first = harness.add_host();
  TestHost& second = harness.add_host({.nic = 1});
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  harness.lan(0).writes_blocked = true;
  ASSERT_TRUE(first.push(frame_of(kPeer, mac_number(1), 1)));
  ASSERT_TRUE(second.push(frame_of(kPeer, mac_number(2), 2)));
  harness.run(5ms);
  EXPECT_TRUE(harness.written[0].empty());
  EXPECT_TRUE(harness.unit->nics()[0]->wants_output());
  EXPECT_EQ(harness.written[1].size(), 1U);
  EXPECT_FALSE(harness.unit->nics()[1]->wants_output());
  harness.lan(0).writes_blocked = false;
  harness.run(5ms);
  EXPECT_EQ(harness.written[0].size(), 1U);
}

TEST(NicsTest, a_nic_that_is_not_there_is_refused_with_their_number) {
  UnitHarness harness({.nics = 2});
  TestHost& host = harness.add_host({.nic = 2});
  ASSERT_TRUE(harness.run_until([&] { return host.link_up(); }));
  host.connect();
  ASSERT_TRUE(harness.run_until([&] { return !host.refusal.empty(); }));
  EXPECT_NE(host.refusal.find("there is no NIC 2: the I/O unit has 2 NICs, --nic 0 to --nic 1"),
            std::string::npos)
      << host.refusal;
  EXPECT_EQ(harness.count("iou.hosts.refused_nic"), 1U);
  EXPECT_TRUE(harness.unit->hosts().empty());
  host.nic = 1;
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  EXPECT_EQ(harness.unit->nics()[1]->hosts().size(), 1U);

  UnitHarness alone;
  TestHost& other = alone.add_host({.nic = 1});
  ASSERT_TRUE(alone.run_until([&] { return other.link_up(); }));
  other.connect();
  ASSERT_TRUE(alone.run_until([&] { return !other.refusal.empty(); }));
  EXPECT_NE(other.refusal.find("has one NIC, --nic 0"), std::string::npos) << other.refusal;
}

TEST(NicsTest, P_CH_23_any_nic_is_the_first_that_the_host_may_use) {
  RightsByHost rights_of;
  rights_of.rights[1].nics = {2, 1};
  rights_of.rights[2].nics = {7};
  UnitHarness harness({.nics = 3, .rights = &rights_of});
  TestHost& some = harness.add_host({.nic = messaging::kAnyNic});
  ASSERT_TRUE(harness.attach(some, mac_number(1)));
  EXPECT_EQ(harness.unit->nics()[1]->hosts().size(), 1U);
  TestHost& none = harness.add_host({.nic = messaging::kAnyNic});
  ASSERT_TRUE(harness.run_until([&] { return none.link_up(); }));
  none.connect();
  ASSERT_TRUE(harness.run_until([&] { return !none.refusal.empty(); }));
  EXPECT_NE(none.refusal.find("there is no NIC 7"), std::string::npos) << none.refusal;
  EXPECT_EQ(harness.count("iou.hosts.refused_nic"), 1U);
  TestHost& all = harness.add_host({.nic = messaging::kAnyNic});
  ASSERT_TRUE(harness.attach(all, mac_number(3)));
  EXPECT_EQ(harness.unit->nics()[0]->hosts().size(), 1U);
}

TEST(NicsTest, a_host_that_asks_for_another_nic_leaves_the_first) {
  UnitHarness harness({.nics = 2});
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  host.nic = 1;
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  EXPECT_TRUE(harness.unit->nics()[0]->hosts().empty());
  ASSERT_EQ(harness.unit->nics()[1]->hosts().size(), 1U);
  harness.lan(0).queue(frame_of(mac_number(1), kPeer));
  harness.run(5ms);
  EXPECT_TRUE(host.got.empty());
}

}  // namespace
}  // namespace splitnic::iou::harness
