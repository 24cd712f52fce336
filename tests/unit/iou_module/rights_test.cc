// A host without the rights cannot receive frames of its neighbours on one NIC, send in their name
// or reach other VLANs, NICs and queues. Rights may change while it is attached.
#include "base/event_log.h"
#include "tests/support/log_lines.h"
#include "tests/unit/iou_module/rights_fixture.h"

namespace splitnic::iou::harness::rights_test {
namespace {

struct RightsTest : RightsFixture {};

TEST_F(RightsTest, H_2_promiscuous_mode_needs_the_right) {
  attach_both();
  TestHost& third = harness.add_host();
  ASSERT_TRUE(harness.attach(third, mac_number(3)));
  EXPECT_EQ(filter_refusal_of(host, {}, true), cfg::PROMISCUOUS);
  lan_sends(mac_number(3), kGateway);
  EXPECT_FALSE(sends(other, frame_of(mac_number(3), mac_number(2), 1)));
  EXPECT_TRUE(sends(other, frame_of(kGateway, mac_number(2), 2)));
  EXPECT_EQ(third.got.size(), 2U);
  EXPECT_TRUE(host.got.empty());
  EXPECT_EQ(harness.count("host.host1.iou.from_host.refused_promiscuous"), 1U);

  source.rights[1].may_sniff = true;
  harness.unit->update_rights(harness.clock.now());
  EXPECT_EQ(filter_refusal_of(host, {}, true), std::nullopt);
  EXPECT_TRUE(sends(other, frame_of(kGateway, mac_number(2), 3)));
  EXPECT_FALSE(sends(other, frame_of(mac_number(3), mac_number(2), 4)));
  EXPECT_EQ(host.got.size(), 2U);
}

TEST_F(RightsTest, B_10_promiscuous_mode_is_in_the_log) {
  source.rights[1].may_sniff = true;
  attach_both();
  const std::uint64_t begin = base::events().next();
  for (const bool is_on : {true, true, false}) {
    EXPECT_EQ(filter_refusal_of(host, {}, is_on), std::nullopt);
  }
  std::vector<std::string> seen;
  for (const auto& event : base::events().since(begin, 100).events) {
    if (event->topic.about == "host1") seen.push_back(event->text);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{
                      "host host1 is in promiscuous mode: it receives the frames of others",
                      "host host1 has left promiscuous mode"}));
}

// The second host is not in the hosts file, and states a name that is.
TEST_F(RightsTest, L_7_a_host_does_not_take_the_name_of_one_in_the_hosts_file) {
  source.rights[1].name = "office";
  other.name = "office";
  const support::LogLines log;
  ASSERT_TRUE(harness.attach(other, mac_number(2)));
  const std::string label = "office#0000000000001002";
  EXPECT_TRUE(harness.has_counter("host." + label + ".iou.to_host.frames"));
  EXPECT_FALSE(harness.has_counter("host.office.iou.to_host.frames")) << "that one is absent";
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  EXPECT_TRUE(harness.has_counter("host.office.iou.to_host.frames"));
  EXPECT_TRUE(harness.has_counter("host." + label + ".iou.to_host.frames"));
  EXPECT_NE(log.text().find("host " + label + " attached"), std::string::npos) << log.text();
  EXPECT_NE(log.text().find("host office attached"), std::string::npos) << log.text();
}

TEST_F(RightsTest, L_7_a_name_that_a_reload_gives_to_a_host_or_takes_away) {
  other.name = "office";
  attach_both();
  EXPECT_TRUE(harness.has_counter("host.office.iou.to_host.frames"));
  source.rights[1].name = "office";
  harness.unit->update_rights(harness.clock.now());
  EXPECT_TRUE(harness.has_counter("host.office.iou.to_host.frames"));
  EXPECT_TRUE(harness.has_counter("host.office#0000000000001002.iou.to_host.frames"));
  EXPECT_FALSE(harness.has_counter("host.host1.iou.to_host.frames"));
  source.rights[1].name = "head-office";
  harness.unit->update_rights(harness.clock.now());
  EXPECT_TRUE(harness.has_counter("host.head-office.iou.to_host.frames"));
  EXPECT_TRUE(harness.has_counter("host.office.iou.to_host.frames"));
  EXPECT_FALSE(harness.has_counter("host.office#0000000000001002.iou.to_host.frames"));
}

TEST_F(RightsTest, H_2_a_unicast_list_that_is_too_long_is_refused_and_not_widened) {
  source.rights[1].mac_count = 1000;
  attach_both();
  std::vector<lan::MacAddress> list;
  for (unsigned i = 0; i <= Filter::kEntriesMax; ++i) {
    list.push_back({0x02, 0, 0, 0, static_cast<std::uint8_t>(2 + i / 256),
                    static_cast<std::uint8_t>(i % 256)});
  }
  EXPECT_EQ(filter_refusal_of(host, list), cfg::TOO_MANY);
  EXPECT_FALSE(nic_of(host).filter.promiscuous);
  EXPECT_TRUE(nic_of(host).filter.unicast.empty());
  list.pop_back();
  EXPECT_EQ(filter_refusal_of(host, list), std::nullopt);
}

TEST_F(RightsTest, H_2_only_a_host_that_may_forge_sends_from_addresses_of_others) {
  source.rights[1].may_sniff = true;
  attach_both();
  ASSERT_EQ(filter_refusal_of(host, {}, true), std::nullopt);
  EXPECT_FALSE(sends(host, frame_of(kGateway, mac_number(9), 1))) << "promiscuous is not enough";
  EXPECT_EQ(harness.count("iou.from_host.drop.spoof"), 1U);
  source.rights[1].may_forge = true;
  harness.unit->update_rights(harness.clock.now());
  EXPECT_TRUE(sends(host, frame_of(kGateway, mac_number(9), 2)));
}

TEST_F(RightsTest, H_2_rights_that_are_withdrawn_end_at_once) {
  source.rights[1] = {.mac_count = 3, .may_sniff = true, .may_forge = true};
  attach_both();
  ASSERT_EQ(filter_refusal_of(host, {mac_number(11), mac_number(12)}, true), std::nullopt);
  source.rights[1] = {.mac_count = 1};
  harness.unit->update_rights(harness.clock.now());
  ASSERT_TRUE(harness.run_until([&] { return !host.up(); })) << "it has to find out";
  ASSERT_TRUE(harness.connect(host));
  EXPECT_FALSE(nic_of(host).filter.promiscuous);
  EXPECT_TRUE(nic_of(host).filter.unicast.empty());
  EXPECT_EQ(nic_of(host).mac, mac_number(1));
  EXPECT_TRUE(other.up());
  EXPECT_EQ(harness.count("host.host2.iou.from_host.refused_address"), 0U);
}

TEST_F(RightsTest, rights_that_do_not_change_what_is_in_force_end_nothing) {
  attach_both();
  source.rights[1] = {.name = "office", .may_sniff = true, .frames_per_second = 1000};
  harness.unit->update_rights(harness.clock.now());
  harness.run(1s);
  EXPECT_TRUE(host.up());
  EXPECT_EQ(harness.unit->hosts().at(0)->identity().name(), "office");
  EXPECT_TRUE(harness.has_counter("host.office.iou.to_host.frames"));
}

TEST_F(RightsTest, M_4_frames_of_other_vlans_are_dropped_both_ways) {
  VlanSet vlans;
  vlans.set(5);
  source.rights[1].vlans = vlans;
  attach_both();
  EXPECT_TRUE(sends(host, frame_of(kGateway, mac_number(1), 1, 5)));
  EXPECT_FALSE(sends(host, frame_of(kGateway, mac_number(1), 2, 6)));
  EXPECT_FALSE(sends(host, frame_of(kGateway, mac_number(1), 3))) << "VLAN 0 is not its own";
  EXPECT_EQ(harness.count("iou.from_host.drop.vlan"), 2U);
  for (const std::uint16_t vlan : std::to_array<std::uint16_t>({0, 5, 6})) {
    harness.lan().queue(frame_of(mac_number(1), kGateway, 10U + vlan, vlan));
  }
  harness.run(5ms);
  EXPECT_EQ(host.got, std::vector<Frame>{frame_of(mac_number(1), kGateway, 15, 5)});
  EXPECT_EQ(harness.count("host.host1.lan.rx.drop.vlan"), 2U);
  EXPECT_FALSE(sends(other, frame_of(mac_number(1), mac_number(2), 20, 6))) << "nor to a host";
  EXPECT_EQ(host.got.size(), 1U);
  EXPECT_TRUE(sends(other, frame_of(kGateway, mac_number(2), 21, 6)));
}

TEST_F(RightsTest, M_4_vlans_and_the_pvid_are_set_within_the_rights) {
  VlanSet vlans;
  vlans.set(5).set(6);
  source.rights[1].vlans = vlans;
  attach_both();
  EXPECT_EQ(harness.vlan(host, CfgCode::kVlanAdd, 5), CfgStatus::kOk);
  EXPECT_EQ(harness.vlan(host, CfgCode::kVlanAdd, 7), CfgStatus::kNotPermitted);
  EXPECT_EQ(harness.vlan(host, CfgCode::kSetPvid, 7), CfgStatus::kNotPermitted);
  EXPECT_EQ(harness.vlan(host, CfgCode::kSetPvid, 6), CfgStatus::kOk);
  EXPECT_TRUE(sends(host, frame_of(kGateway, mac_number(1), 1))) << "of VLAN 6";
  EXPECT_EQ(harness.vlan(host, CfgCode::kSetPvid, 0), CfgStatus::kOk);
  EXPECT_EQ(harness.count("iou.from_host.refused_vlan"), 2U);
}

TEST_F(RightsTest, M_4_a_pvid_of_the_rights_is_there_from_the_start_and_stays) {
  source.rights[1].vlans = VlanSet();
  source.rights[1].pvid = 7;
  attach_both();
  for (const std::uint32_t id : {0U, 8U}) {
    EXPECT_EQ(harness.vlan(host, CfgCode::kSetPvid, id), CfgStatus::kNotPermitted);
  }
  EXPECT_EQ(harness.vlan(host, CfgCode::kSetPvid, 7), CfgStatus::kOk);
  ASSERT_EQ(harness.ask(host, CfgCode::kReset).status, CfgStatus::kOk);
  ASSERT_EQ(harness.set_mac(host, mac_number(1)), CfgStatus::kOk);
  ASSERT_TRUE(harness.start(host));
  EXPECT_TRUE(sends(host, frame_of(kGateway, mac_number(1), 1, 0, 96)));
  EXPECT_EQ(harness.written[0].back(), frame_of(kGateway, mac_number(1), 1, 7, 100));
  harness.lan().queue(frame_of(mac_number(1), kGateway, 2, 7, 100));
  harness.run(5ms);
  EXPECT_EQ(host.got, std::vector<Frame>{frame_of(mac_number(1), kGateway, 2, 0, 96)});
}

// Without a list of VLANs, the access VLAN is the only one.
TEST_F(RightsTest, M_4_a_pvid_alone_is_an_access_port) {
  source.rights[1].pvid = 7;
  attach_both();
  EXPECT_TRUE(sends(host, frame_of(kGateway, mac_number(1), 1)));
  EXPECT_FALSE(sends(host, frame_of(kGateway, mac_number(1), 2, 8)));
  EXPECT_EQ(harness.count("iou.from_host.drop.vlan"), 1U);
  for (const std::uint16_t vlan : std::to_array<std::uint16_t>({0, 7, 8})) {
    harness.lan().queue(frame_of(mac_number(1), kGateway, 10U + vlan, vlan, 100));
  }
  harness.run(5ms);
  EXPECT_EQ(host.got, std::vector<Frame>{frame_of(mac_number(1), kGateway, 17, 0, 96)});
}

// One that a host has requested stays: a host whose rights list no VLANs may have any.
TEST_F(RightsTest, M_4_a_pvid_that_is_withdrawn_ends_at_once) {
  source.rights[1].pvid = 7;
  attach_both();
  ASSERT_EQ(harness.vlan(other, CfgCode::kSetPvid, 8), CfgStatus::kOk);
  source.rights[1].pvid.reset();
  source.rights[2].name = "office";
  harness.unit->update_rights(harness.clock.now());
  ASSERT_TRUE(harness.run_until([&] { return !host.up(); })) << "it has to find out";
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  EXPECT_TRUE(sends(host, frame_of(kGateway, mac_number(1), 1, 0, 96)));
  EXPECT_EQ(harness.written[0].back(), frame_of(kGateway, mac_number(1), 1, 0, 96)) << "no tag";
  EXPECT_TRUE(other.up());
  EXPECT_EQ(nic_of(other).vlans.pvid(), 8);
}

TEST_F(RightsTest, a_host_uses_the_nics_of_its_rights) {
  source.rights[1].nics = {1};
  ASSERT_TRUE(harness.run_until([&] { return host.link_up(); }));
  host.connect();
  ASSERT_TRUE(harness.run_until([&] { return !host.refusal.empty(); }));
  EXPECT_NE(host.refusal.find("may not use NIC 0"), std::string::npos) << host.refusal;
  EXPECT_EQ(harness.count("iou.hosts.refused_rights"), 1U);
}

TEST_F(RightsTest, H_1_a_nic_that_is_withdrawn_is_lost_at_once) {
  source.rights[1].nics = {0, 1};
  attach_both();
  source.rights[1].nics = {1};
  harness.unit->update_rights(harness.clock.now());
  ASSERT_TRUE(harness.run_until([&] { return !host.up(); }, 5ms));
  EXPECT_TRUE(other.up());
  harness.run(Iou::kAttachInterval);
  EXPECT_FALSE(harness.connect(host));
  EXPECT_NE(host.refusal.find("may not use NIC 0"), std::string::npos) << host.refusal;
}

TEST_F(RightsTest, a_host_has_the_queues_of_its_rights) {
  UnitHarness second{{.queue = 1, .rights = &source}};
  TestHost& there = second.add_host();
  ASSERT_TRUE(second.attach(there, mac_number(1)));
  source.rights[1].queues_max = 1;
  second.unit->update_rights(second.clock.now());
  ASSERT_TRUE(second.run_until([&] { return !there.up(); }, 5ms));
  second.run(Iou::kAttachInterval);
  EXPECT_FALSE(second.connect(there));
  EXPECT_NE(there.refusal.find("may have 1 queues"), std::string::npos) << there.refusal;
  EXPECT_TRUE(harness.attach(host, mac_number(1))) << "at queue 0";
}

}  // namespace
}  // namespace splitnic::iou::harness::rights_test
