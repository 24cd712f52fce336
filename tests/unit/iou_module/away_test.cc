// Hosts that disconnect and return: what the unit keeps for them, and for how long.
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness {
namespace {

constexpr auto kKept = ParkedSettings::kKeptFor;

// Attaches a host with its own configuration.
bool set_up(UnitHarness& harness, TestHost& host, const lan::MacAddress& mac) {
  if (!harness.attach(host, mac)) return false;
  cfg::SetMtuRequest mtu;
  mtu.set_mtu(1400);
  cfg::SetFilterRequest filter;
  filter.mutable_filter()->add_multicast(bytes({0x01, 0, 0x5E, 0, 0, 1}));
  return harness.ask(host, CfgCode::kSetMtu, mtu).status == CfgStatus::kOk &&
         harness.ask(host, CfgCode::kSetFilter, filter).status == CfgStatus::kOk &&
         harness.vlan(host, CfgCode::kVlanAdd, 5) == CfgStatus::kOk &&
         harness.vlan(host, CfgCode::kSetPvid, 6) == CfgStatus::kOk;
}

// A host that is set up, and its digest.
class AwayHost : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(set_up(harness, host, mac_number(1)));
    before = harness.digest(host);
  }

  UnitHarness harness;
  TestHost& host = harness.add_host();
  std::string before;
};

TEST_F(AwayHost, the_digest_is_the_same_after_a_new_connection_of_the_same_process) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(harness.connect(host));
    EXPECT_EQ(harness.digest(host), before) << round;
  }
  // INIT_NIC negotiates offloads and leaves all other settings.
  cfg::InitNicRequest init;
  init.set_features_wanted(lan::kOffloadVnet);
  ASSERT_EQ(harness.ask(host, CfgCode::kInitNic, init).status, CfgStatus::kOk);
  EXPECT_EQ(harness.digest(host), before);
  // The configuration is in force again once the NIC is started.
  harness.lan().queue(frame_of(mac_number(1), kPeer, 1, 6));
  harness.run(5ms);
  EXPECT_TRUE(host.got.empty()) << "not started";
  ASSERT_TRUE(harness.start(host));
  harness.lan().queue(frame_of(mac_number(1), kPeer, 2, 6));
  harness.lan().queue(frame_of(mac_number(1), kPeer, 3, 9));
  harness.run(5ms);
  EXPECT_EQ(host.got.size(), 1U);
}

TEST(AwayTest, it_is_kept_for_60_seconds) {
  for (const bool is_late : {false, true}) {
    UnitHarness harness;
    TestHost& host = harness.add_host();
    ASSERT_TRUE(set_up(harness, host, mac_number(1)));
    const std::string before = harness.digest(host);
    host.end();
    harness.run(1ms);
    ASSERT_TRUE(harness.unit->hosts().empty());
    harness.run(kKept + (is_late ? 1s : -1s));
    ASSERT_TRUE(harness.connect(host));
    EXPECT_EQ(harness.digest(host) == before, !is_late);
  }
}

TEST(AwayTest, another_process_of_the_host_starts_over) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  TestHost& fresh = harness.add_host();
  ASSERT_TRUE(harness.connect(fresh));
  const std::string nothing = harness.digest(fresh);
  ASSERT_TRUE(set_up(harness, host, mac_number(1)));
  ASSERT_NE(harness.digest(host), nothing);
  host.start();
  ASSERT_TRUE(harness.connect(host));
  EXPECT_EQ(harness.digest(host), nothing);
}

TEST_F(AwayHost, a_unit_that_was_restarted_has_another_digest) {
  harness.start_unit();
  ASSERT_TRUE(harness.run_until([&] { return !host.refusal.empty(); }, 10s));
  ASSERT_TRUE(harness.connect(host));
  EXPECT_NE(harness.digest(host), before);
}

TEST_F(AwayHost, a_smaller_mtu_of_the_lan_shows_in_the_digest) {
  host.end();
  harness.run(1ms);
  harness.lan().mutable_state().mtu = 1300;
  harness.unit->nics()[0]->on_event();
  ASSERT_TRUE(harness.connect(host));
  EXPECT_NE(harness.digest(host), before);
}

TEST_F(AwayHost, an_address_is_free_five_minutes_after_its_host_has_gone) {
  TestHost& other = harness.add_host();
  ASSERT_TRUE(harness.attach(other, mac_number(2)));
  host.end();
  harness.run(1ms);
  EXPECT_EQ(harness.set_mac(other, mac_number(1)), CfgStatus::kNotPermitted);
  ASSERT_TRUE(harness.connect(host));
  EXPECT_EQ(harness.digest(host), before) << "its address has waited for it";
  host.end();
  harness.run(LanAddresses::kUsedFor);
  EXPECT_EQ(harness.set_mac(other, mac_number(1)), CfgStatus::kOk);
  ASSERT_TRUE(harness.connect(host));
  EXPECT_EQ(harness.set_mac(host, mac_number(1)), CfgStatus::kNotPermitted);
}

// The link is lost, but the connection stays.
TEST(AwayTest, nothing_is_queued_for_a_host_whose_link_is_down) {
  TwoHosts harness;
  TestHost& host = harness.host;
  TestHost& other = harness.other;
  host.faults.set_cut(true);
  harness.run(2s);
  for (std::uint32_t i = 0; i < 10; ++i) harness.lan().queue(frame_of(mac_number(1), kPeer, i));
  ASSERT_TRUE(other.push(frame_of(mac_number(1), mac_number(2), 50)));
  harness.run(5ms);
  EXPECT_EQ(harness.count("lan.rx.drop.no_host"), 10U);
  EXPECT_EQ(harness.count("iou.from_host.drop.away"), 1U);
  EXPECT_EQ(harness.count("iou.host_to_host"), 0U);
  EXPECT_TRUE(harness.written[0].empty()) << "its address is still its own";
  host.faults.set_cut(false);
  ASSERT_TRUE(harness.run_until([&] { return host.link_up() && host.up(); }, 5s));
  harness.run(100ms);
  EXPECT_TRUE(host.got.empty());
  harness.lan().queue(frame_of(mac_number(1), kPeer, 60));
  harness.run(5ms);
  EXPECT_EQ(host.got, std::vector<Frame>{frame_of(mac_number(1), kPeer, 60)});
}

TEST(AwayTest, a_host_that_does_not_come_back_loses_its_address) {
  TwoHosts harness;
  TestHost& host = harness.host;
  TestHost& other = harness.other;
  host.faults.set_cut(true);
  harness.run(59s);
  EXPECT_EQ(harness.unit->hosts().size(), 2U);
  EXPECT_EQ(harness.set_mac(other, mac_number(1)), CfgStatus::kNotPermitted);
  harness.run(3s);
  EXPECT_EQ(harness.unit->hosts().size(), 1U);
  EXPECT_EQ(harness.count("iou.hosts.silent"), 1U);
  EXPECT_EQ(harness.count("iou.hosts.ups"), 2U);
  EXPECT_EQ(harness.count("iou.hosts.downs"), 1U);
  ASSERT_TRUE(other.push(frame_of(mac_number(1), mac_number(2), 1)));
  harness.run(5ms);
  EXPECT_EQ(harness.written[0].size(), 1U) << "it may be on the LAN now";
}

}  // namespace
}  // namespace splitnic::iou::harness
