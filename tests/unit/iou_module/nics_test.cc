// Several LANs on one unit: hosts of different NICs share nothing but the unit.
#include "tests/unit/iou_module/unit_bench.h"

namespace splitnic::iou::bench {
namespace {

TEST(NicsTest, S001_08_each_host_hears_its_own_lan_only) {
  UnitBench bench({.nics = 2});
  TestHost& first = bench.add_host();
  TestHost& second = bench.add_host({.nic = 1});
  ASSERT_TRUE(bench.attach(first, mac_number(1)));
  ASSERT_TRUE(bench.attach(second, mac_number(2)));
  bench.lan(0).queue(frame_of(kEverybody, kPeer, 10));
  bench.lan(1).queue(frame_of(kEverybody, kPeer, 20));
  bench.lan(0).queue(frame_of(mac_number(2), kPeer, 11));
  bench.run(5ms);
  ASSERT_EQ(first.got.size(), 1U);
  EXPECT_EQ(first.got[0], frame_of(kEverybody, kPeer, 10));
  ASSERT_EQ(second.got.size(), 1U);
  EXPECT_EQ(second.got[0], frame_of(kEverybody, kPeer, 20));
  EXPECT_EQ(bench.count("lan.rx.frames"), 2U);
  EXPECT_EQ(bench.count("lan.rx.drop.no_host"), 1U) << "that host is on another LAN";
  EXPECT_EQ(bench.count("lan1.rx.frames"), 1U);
  EXPECT_EQ(bench.count("lan1.rx.drop.no_host"), 0U);
}

TEST(NicsTest, S001_08_hosts_of_two_nics_meet_through_the_lans_only) {
  UnitBench bench({.nics = 2});
  TestHost& first = bench.add_host();
  TestHost& second = bench.add_host({.nic = 1});
  ASSERT_TRUE(bench.attach(first, mac_number(1)));
  ASSERT_TRUE(bench.attach(second, mac_number(2)));
  const std::vector<Frame> sent{frame_of(mac_number(2), mac_number(1), 1),
                                frame_of(kEverybody, mac_number(1), 2)};
  for (const Frame& frame : sent) ASSERT_TRUE(first.push(frame));
  bench.run(5ms);
  EXPECT_EQ(bench.written[0], sent);
  EXPECT_TRUE(bench.written[1].empty());
  EXPECT_TRUE(second.got.empty());
  EXPECT_EQ(bench.count("iou.host_to_host"), 0U);
  EXPECT_EQ(bench.count("lan.tx.frames"), 2U);
  EXPECT_EQ(bench.count("lan1.tx.frames"), 0U);
  EXPECT_EQ(bench.count("lan1.port.tx.frames"), 0U);
  EXPECT_TRUE(bench.has_counter("lan1.rx.drop.host_full"));
}

TEST(NicsTest, the_same_address_may_be_on_two_lans) {
  UnitBench bench({.nics = 2});
  TestHost& first = bench.add_host();
  TestHost& second = bench.add_host({.nic = 1});
  TestHost& third = bench.add_host({.nic = 1});
  ASSERT_TRUE(bench.attach(first, mac_number(1)));
  ASSERT_TRUE(bench.attach(second, mac_number(1)));
  ASSERT_TRUE(bench.attach(third, mac_number(3)));
  EXPECT_EQ(bench.set_mac(third, mac_number(1)), CfgStatus::kNotPermitted);
  bench.lan(1).queue(frame_of(mac_number(1), kPeer));
  bench.run(5ms);
  EXPECT_EQ(second.got.size(), 1U);
  EXPECT_TRUE(first.got.empty());
}

TEST(NicsTest, link_and_mtu_are_those_of_the_hosts_own_lan) {
  UnitBench bench({.nics = 2});
  bench.lan(1).mutable_state().mtu = 9000;
  bench.start_unit();
  TestHost& first = bench.add_host();
  TestHost& second = bench.add_host({.nic = 1});
  ASSERT_TRUE(bench.attach(first, mac_number(1)));
  ASSERT_TRUE(bench.attach(second, mac_number(2)));
  cfg::InitNicRequest init;
  init.set_features_wanted(lan::kOffloadVnet);
  cfg::InitNicReply reply;
  ASSERT_TRUE(reply.ParseFromString(bench.ask(second, CfgCode::kInitNic, init).data));
  EXPECT_EQ(reply.mtu(), 9000U);
  EXPECT_EQ(reply.mac(), bytes(bench.lan(1).state().mac));
  bench.lan(1).mutable_state().link_up = false;
  for (const auto& nic : bench.unit->nics()) nic->on_event();
  bench.run(5ms);
  EXPECT_EQ(first.events, 0U);
  EXPECT_EQ(second.events, 1U);
  cfg::GetLinkReply link;
  ASSERT_TRUE(link.ParseFromString(bench.ask(first, CfgCode::kGetLink).data));
  EXPECT_TRUE(link.link().up());
  ASSERT_TRUE(link.ParseFromString(bench.ask(second, CfgCode::kGetLink).data));
  EXPECT_FALSE(link.link().up());
}

TEST(NicsTest, a_blocked_lan_holds_up_its_own_hosts_only) {
  UnitBench bench({.nics = 2});
  TestHost& first = bench.add_host();
  TestHost& second = bench.add_host({.nic = 1});
  ASSERT_TRUE(bench.attach(first, mac_number(1)));
  ASSERT_TRUE(bench.attach(second, mac_number(2)));
  bench.lan(0).writes_blocked = true;
  ASSERT_TRUE(first.push(frame_of(kPeer, mac_number(1), 1)));
  ASSERT_TRUE(second.push(frame_of(kPeer, mac_number(2), 2)));
  bench.run(5ms);
  EXPECT_TRUE(bench.written[0].empty());
  EXPECT_TRUE(bench.unit->nics()[0]->wants_output());
  EXPECT_EQ(bench.written[1].size(), 1U);
  EXPECT_FALSE(bench.unit->nics()[1]->wants_output());
  bench.lan(0).writes_blocked = false;
  bench.run(5ms);
  EXPECT_EQ(bench.written[0].size(), 1U);
}

TEST(NicsTest, a_nic_that_is_not_there_is_refused_with_their_number) {
  UnitBench bench({.nics = 2});
  TestHost& host = bench.add_host({.nic = 2});
  ASSERT_TRUE(bench.run_until([&] { return host.link_up(); }));
  host.connect();
  ASSERT_TRUE(bench.run_until([&] { return !host.refusal.empty(); }));
  EXPECT_NE(host.refusal.find("there is no NIC 2: the I/O unit has 2 NICs, --nic 0 to --nic 1"),
            std::string::npos)
      << host.refusal;
  EXPECT_EQ(bench.count("iou.hosts.refused_nic"), 1U);
  EXPECT_TRUE(bench.unit->sessions().empty());
  host.nic = 1;
  ASSERT_TRUE(bench.attach(host, mac_number(1)));
  EXPECT_EQ(bench.unit->nics()[1]->sessions().size(), 1U);

  UnitBench alone;
  TestHost& other = alone.add_host({.nic = 1});
  ASSERT_TRUE(alone.run_until([&] { return other.link_up(); }));
  other.connect();
  ASSERT_TRUE(alone.run_until([&] { return !other.refusal.empty(); }));
  EXPECT_NE(other.refusal.find("has one NIC, --nic 0"), std::string::npos) << other.refusal;
}

TEST(NicsTest, a_host_that_asks_for_another_nic_leaves_the_first) {
  UnitBench bench({.nics = 2});
  TestHost& host = bench.add_host();
  ASSERT_TRUE(bench.attach(host, mac_number(1)));
  host.nic = 1;
  ASSERT_TRUE(bench.attach(host, mac_number(1)));
  EXPECT_TRUE(bench.unit->nics()[0]->sessions().empty());
  ASSERT_EQ(bench.unit->nics()[1]->sessions().size(), 1U);
  bench.lan(0).queue(frame_of(mac_number(1), kPeer));
  bench.run(5ms);
  EXPECT_TRUE(host.got.empty());
}

}  // namespace
}  // namespace splitnic::iou::bench
