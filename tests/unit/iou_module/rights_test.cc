// A host without the rights cannot take addresses of its neighbours on one NIC, receive their
// frames, send in their name or reach other VLANs. Rights may change while it is attached.
#include <map>

#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::rights_test {
namespace {

constexpr lan::MacAddress kGateway = kPeer;
constexpr lan::MacAddress kNicMac{0x02, 0, 0, 0, 0, 0xE0};

// Rights by the number of the host (UnitHarness: 1, 2, ...).
class RightsByHost final : public RightsSource {
 public:
  HostRights rights_of(const fabric::Link& link) const override {
    const auto at = rights.find(link.peer_eui64().value - 0x1000);
    return at == rights.end() ? HostRights{} : at->second;
  }
  bool is_of_another(const lan::MacAddress& mac, const fabric::Link& link) const override {
    return std::ranges::any_of(rights, [&](const auto& entry) {
      return entry.first + 0x1000 != link.peer_eui64().value &&
             std::ranges::find(entry.second.macs, mac) != entry.second.macs.end();
    });
  }
  std::map<std::uint64_t, HostRights> rights{};
};

struct RightsTest : testing::Test {
  void attach_both() {
    ASSERT_TRUE(harness.attach(host, mac_number(1)));
    ASSERT_TRUE(harness.attach(other, mac_number(2)));
  }
  void lan_sends(const lan::MacAddress& to, const lan::MacAddress& from) {
    harness.lan().queue(frame_of(to, from));
    harness.run(5ms);
  }
  // The reason in the reply to SET_MAC.
  std::optional<cfg::Refusal> refusal_of(TestHost& who, const lan::MacAddress& mac) {
    cfg::SetMacRequest request;
    request.set_mac(bytes(mac));
    const CfgReply reply = harness.ask(who, CfgCode::kSetMac, request);
    if (reply.status == CfgStatus::kOk) return std::nullopt;
    EXPECT_EQ(reply.status, CfgStatus::kNotPermitted);
    cfg::SetMacReply got;
    EXPECT_TRUE(got.ParseFromString(reply.data));
    return got.refusal();
  }
  std::optional<cfg::Refusal> filter_refusal_of(TestHost& who,
                                                const std::vector<lan::MacAddress>& unicast,
                                                bool is_promiscuous = false) {
    const CfgReply reply = harness.filter(who, unicast, is_promiscuous);
    if (reply.status == CfgStatus::kOk) return std::nullopt;
    EXPECT_EQ(reply.status, CfgStatus::kNotPermitted);
    cfg::SetFilterReply got;
    EXPECT_TRUE(got.ParseFromString(reply.data));
    return got.refusal();
  }
  bool sends(TestHost& who, const Frame& frame) {
    const std::size_t before = harness.written[0].size();
    EXPECT_TRUE(who.push(frame));
    harness.run(5ms);
    return harness.written[0].size() > before;
  }
  const NicSettings& nic_of(TestHost& who) {
    for (const AttachedHost* at : harness.unit->hosts()) {
      if (at->link().peer_eui64() == who.link->local_eui64() && !at->has_ended()) return at->nic();
    }
    ADD_FAILURE() << "not attached";
    static const NicSettings kNone;
    return kNone;
  }

  RightsByHost source;
  UnitHarness harness{{.rights = &source}};
  TestHost& host = harness.add_host();
  TestHost& other = harness.add_host();
};

TEST_F(RightsTest, H_1_an_address_that_the_lan_has_used_is_refused) {
  attach_both();
  lan_sends(mac_number(2), kGateway);
  EXPECT_EQ(refusal_of(host, kGateway), cfg::OF_THE_LAN);
  EXPECT_EQ(filter_refusal_of(host, {kGateway}), cfg::OF_THE_LAN);
  EXPECT_EQ(filter_refusal_of(host, {mac_number(5), kGateway}), cfg::OF_THE_LAN);
  EXPECT_EQ(nic_of(host).mac, mac_number(1));
  EXPECT_TRUE(nic_of(host).filter.unicast.empty());
  EXPECT_EQ(harness.count("iou.from_host.refused_address"), 3U);
  EXPECT_EQ(harness.count("host.host1.iou.from_host.refused_address"), 3U);
  ASSERT_TRUE(other.push(frame_of(kGateway, mac_number(2), 7)));
  harness.run(5ms);
  EXPECT_EQ(harness.written[0], std::vector<Frame>{frame_of(kGateway, mac_number(2), 7)});
  EXPECT_TRUE(host.got.empty());
}

TEST_F(RightsTest, H_1_five_minutes_after_its_last_frame_an_address_is_free) {
  attach_both();
  for (int i = 0; i < 8; ++i) {
    lan_sends(mac_number(2), kGateway);
    harness.run(60s);
  }
  EXPECT_EQ(refusal_of(host, kGateway), cfg::OF_THE_LAN);
  harness.run(LanAddresses::kUsedFor - 60s);
  EXPECT_EQ(refusal_of(host, kGateway), std::nullopt);
}

// It has claimed the address while the LAN was silent.
TEST_F(RightsTest, H_1_frames_for_a_machine_on_the_lan_go_there_whatever_a_host_has_claimed) {
  attach_both();
  ASSERT_EQ(filter_refusal_of(host, {kGateway}), std::nullopt);
  EXPECT_FALSE(sends(other, frame_of(kGateway, mac_number(2), 1)));
  EXPECT_EQ(host.got.size(), 1U);
  lan_sends(mac_number(2), kGateway);
  EXPECT_TRUE(sends(other, frame_of(kGateway, mac_number(2), 2)));
  EXPECT_EQ(host.got.size(), 1U) << "and not to the host";
}

// A broadcast is all that it can send: the frames for it go to the host.
TEST_F(RightsTest, H_1_a_machine_that_is_heard_by_group_frames_only_gets_its_address_back) {
  attach_both();
  ASSERT_EQ(filter_refusal_of(host, {kGateway}), std::nullopt);
  lan_sends(kEverybody, kGateway);
  const std::size_t got = host.got.size();
  EXPECT_TRUE(sends(other, frame_of(kGateway, mac_number(2), 2)));
  EXPECT_EQ(host.got.size(), got) << "and not to the host";
}

TEST_F(RightsTest, H_1_a_frame_that_the_lan_returns_to_its_sender_takes_nothing_from_it) {
  attach_both();
  ASSERT_TRUE(sends(host, frame_of(kEverybody, mac_number(1), 1)));
  harness.lan().queue(frame_of(kEverybody, mac_number(1), 1));
  harness.run(5ms);
  EXPECT_FALSE(sends(other, frame_of(mac_number(1), mac_number(2), 1)));
  EXPECT_EQ(refusal_of(host, mac_number(1)), std::nullopt);
  // Another frame, or the same much later, is of another machine.
  harness.run(2s);
  harness.lan().queue(frame_of(kEverybody, mac_number(1), 1));
  harness.run(5ms);
  EXPECT_TRUE(sends(other, frame_of(mac_number(1), mac_number(2), 2)));
}

// Frames that are short have padding when they return.
TEST_F(RightsTest, H_1_a_short_frame_that_the_lan_returns_takes_nothing_from_its_sender) {
  attach_both();
  ASSERT_TRUE(sends(host, frame_of(kEverybody, mac_number(1), 1, 0, 12 + 42)));
  harness.lan().queue(frame_of(kEverybody, mac_number(1), 1, 0, 12 + 60));
  harness.run(5ms);
  EXPECT_FALSE(sends(other, frame_of(mac_number(1), mac_number(2), 1)));
}

// Another host cannot make the unit forget what a host has sent.
TEST_F(RightsTest, H_1_each_host_is_known_by_its_own_group_frames) {
  attach_both();
  ASSERT_TRUE(sends(host, frame_of(kEverybody, mac_number(1), 1)));
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(other.push(frame_of(kEverybody, mac_number(2), i)));
  }
  harness.run(5ms);
  harness.lan().queue(frame_of(kEverybody, mac_number(1), 1));
  harness.run(5ms);
  EXPECT_FALSE(sends(other, frame_of(mac_number(1), mac_number(2), 1)));
}

TEST_F(RightsTest, H_1_the_nics_own_address_needs_a_right) {
  attach_both();
  EXPECT_EQ(refusal_of(host, kNicMac), cfg::OF_THE_NIC);
  EXPECT_EQ(filter_refusal_of(host, {kNicMac}), cfg::OF_THE_NIC);
  for (const HostRights& rights : {HostRights{.macs = {kNicMac}}, HostRights{.may_forge = true}}) {
    source.rights[1] = rights;
    harness.unit->update_rights(harness.clock.now());
    EXPECT_EQ(refusal_of(host, kNicMac), std::nullopt);
    ASSERT_EQ(refusal_of(host, mac_number(1)), std::nullopt);
  }
}

TEST_F(RightsTest, H_1_a_listed_address_is_the_hosts_alone) {
  source.rights[1].macs = {mac_number(9), kGateway};
  attach_both();
  EXPECT_EQ(refusal_of(other, mac_number(9)), cfg::RESERVED);
  EXPECT_EQ(filter_refusal_of(other, {mac_number(9)}), cfg::RESERVED);
  lan_sends(mac_number(2), kGateway);
  EXPECT_EQ(refusal_of(host, kGateway), std::nullopt) << "whatever the LAN uses";
  EXPECT_FALSE(sends(other, frame_of(kGateway, mac_number(2), 1)));
  EXPECT_EQ(host.got.size(), 1U);
}

TEST_F(RightsTest, H_1_an_address_that_is_listed_for_a_host_that_is_not_here_is_refused) {
  source.rights[77].macs = {mac_number(9)};
  attach_both();
  EXPECT_EQ(refusal_of(host, mac_number(9)), cfg::RESERVED);
}

TEST_F(RightsTest, H_1_a_host_has_as_many_addresses_as_its_rights_give_it) {
  source.rights[1].mac_count = 2;
  source.rights[1].macs = {mac_number(20), mac_number(21)};
  attach_both();
  EXPECT_EQ(filter_refusal_of(host, {mac_number(11), mac_number(12)}), cfg::TOO_MANY);
  EXPECT_EQ(filter_refusal_of(host, {mac_number(11), mac_number(20), mac_number(21)}),
            std::nullopt);
  EXPECT_EQ(filter_refusal_of(host, {mac_number(1), mac_number(11)}), std::nullopt)
      << "its MAC is counted once";
  EXPECT_EQ(refusal_of(host, mac_number(13)), cfg::TOO_MANY);
  EXPECT_EQ(refusal_of(host, mac_number(20)), std::nullopt) << "listed ones are not counted";
  ASSERT_EQ(filter_refusal_of(host, {mac_number(11)}), std::nullopt);
  EXPECT_EQ(refusal_of(host, mac_number(13)), std::nullopt);
}

// It has attached and claimed, and never starts its NIC.
TEST_F(RightsTest, H_1_a_host_that_is_not_started_blocks_an_address_for_a_minute_only) {
  attach_both();
  ASSERT_EQ(harness.ask(host, CfgCode::kStop).status, CfgStatus::kOk);
  ASSERT_EQ(refusal_of(host, mac_number(9)), std::nullopt);
  EXPECT_EQ(refusal_of(other, mac_number(9)), cfg::OF_ANOTHER_HOST);
  harness.run(kClaimedFor / 2);
  ASSERT_EQ(harness.ask(host, CfgCode::kStop).status, CfgStatus::kOk) << "which gains no time";
  ASSERT_EQ(refusal_of(host, mac_number(9)), std::nullopt);
  harness.run(kClaimedFor / 2);
  EXPECT_EQ(refusal_of(other, mac_number(9)), std::nullopt);
  ASSERT_TRUE(harness.run_until([&] { return !host.up(); })) << "it has to find out";
  ASSERT_TRUE(harness.connect(host));
  EXPECT_EQ(refusal_of(host, mac_number(9)), cfg::OF_ANOTHER_HOST);
}

// Its process restarts, or its path fails, and another host asks for its address all the time.
TEST_F(RightsTest, H_1_an_address_stays_that_of_its_last_host_for_five_minutes) {
  attach_both();
  other.end();
  harness.run(1s);
  EXPECT_EQ(refusal_of(host, mac_number(2)), cfg::OF_ANOTHER_HOST);
  EXPECT_EQ(filter_refusal_of(host, {mac_number(2)}), cfg::OF_ANOTHER_HOST);
  other.start();
  ASSERT_TRUE(harness.attach(other, mac_number(2))) << "another process of it";
  other.end();
  harness.run(LanAddresses::kUsedFor);
  EXPECT_EQ(refusal_of(host, mac_number(2)), std::nullopt);
}

// A host cannot collect addresses by leaving.
TEST_F(RightsTest, H_1_a_host_that_is_gone_keeps_what_it_had_last_only) {
  attach_both();
  ASSERT_EQ(refusal_of(other, mac_number(3)), std::nullopt);
  EXPECT_EQ(refusal_of(host, mac_number(2)), std::nullopt) << "given up";
  other.end();
  harness.run(1s);
  ASSERT_TRUE(harness.attach(other, mac_number(4)));
  EXPECT_EQ(refusal_of(host, mac_number(3)), std::nullopt) << "it has started with another";
}

TEST_F(RightsTest, H_1_an_address_of_the_rights_is_free_as_soon_as_its_last_host_is_gone) {
  attach_both();
  other.end();
  harness.run(1s);
  source.rights[1].macs = {mac_number(2)};
  harness.unit->update_rights(harness.clock.now());
  EXPECT_EQ(refusal_of(host, mac_number(2)), std::nullopt);
}

TEST_F(RightsTest, H_1_a_started_host_keeps_its_address) {
  attach_both();
  harness.run(10 * kClaimedFor);
  EXPECT_EQ(refusal_of(other, mac_number(1)), cfg::OF_ANOTHER_HOST);
}

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

TEST_F(RightsTest, H_2_a_unicast_list_that_is_too_long_is_refused_and_not_widened) {
  source.rights[1].mac_count = 1000;
  attach_both();
  std::vector<lan::MacAddress> list;
  for (unsigned i = 0; i <= AttachedHost::kFilterEntries; ++i) {
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

TEST_F(RightsTest, H_1_an_address_that_is_listed_for_another_host_later_is_taken_away) {
  attach_both();
  source.rights[2].macs = {mac_number(1)};
  harness.unit->update_rights(harness.clock.now());
  EXPECT_EQ(refusal_of(other, mac_number(1)), std::nullopt);
  ASSERT_TRUE(harness.run_until([&] { return !host.up(); }));
}

TEST_F(RightsTest, rights_that_do_not_change_what_is_in_force_end_nothing) {
  attach_both();
  source.rights[1] = {.name = "office", .may_sniff = true, .frames_per_second = 1000};
  harness.unit->update_rights(harness.clock.now());
  harness.run(1s);
  EXPECT_TRUE(host.up());
  EXPECT_EQ(harness.unit->hosts().at(0)->name(), "office");
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
