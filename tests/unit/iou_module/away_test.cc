// Hosts that go away and come back: what the unit keeps for them, for how long, and for whom.
#include "tests/unit/iou_module/unit_bench.h"

namespace splitnic::iou::bench {
namespace {

constexpr auto kKept = ParkedSettings::kKeptFor;

// Attached with a configuration of its own.
bool set_up(UnitBench& bench, TestHost& host, const lan::MacAddress& mac) {
  if (!bench.attach(host, mac)) return false;
  cfg::SetMtuRequest mtu;
  mtu.set_mtu(1400);
  cfg::SetFilterRequest filter;
  filter.mutable_filter()->add_multicast(bytes({0x01, 0, 0x5E, 0, 0, 1}));
  return bench.ask(host, CfgCode::kSetMtu, mtu).status == CfgStatus::kOk &&
         bench.ask(host, CfgCode::kSetFilter, filter).status == CfgStatus::kOk &&
         bench.vlan(host, CfgCode::kVlanAdd, 5) == CfgStatus::kOk &&
         bench.vlan(host, CfgCode::kSetPvid, 6) == CfgStatus::kOk;
}

// A host that is set up, and its digest.
class AwayHost : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(set_up(bench, host, mac_number(1)));
    before = bench.digest(host);
  }

  UnitBench bench;
  TestHost& host = bench.add_host();
  std::string before;
};

TEST_F(AwayHost, the_digest_is_the_same_after_a_new_connection_of_the_same_process) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(bench.connect(host));
    EXPECT_EQ(bench.digest(host), before) << round;
  }
  // INIT_NIC agrees offloads anew and leaves the rest.
  cfg::InitNicRequest init;
  init.set_features_wanted(lan::kOffloadVnet);
  ASSERT_EQ(bench.ask(host, CfgCode::kInitNic, init).status, CfgStatus::kOk);
  EXPECT_EQ(bench.digest(host), before);
  // It is in force again, once it is started.
  bench.lan().queue(frame_of(mac_number(1), kPeer, 1, 6));
  bench.run(5ms);
  EXPECT_TRUE(host.got.empty()) << "not started";
  ASSERT_TRUE(bench.start(host));
  bench.lan().queue(frame_of(mac_number(1), kPeer, 2, 6));
  bench.lan().queue(frame_of(mac_number(1), kPeer, 3, 9));
  bench.run(5ms);
  EXPECT_EQ(host.got.size(), 1U);
}

TEST(AwayTest, it_is_kept_for_60_seconds) {
  for (const bool is_late : {false, true}) {
    UnitBench bench;
    TestHost& host = bench.add_host();
    ASSERT_TRUE(set_up(bench, host, mac_number(1)));
    const std::string before = bench.digest(host);
    host.end();
    bench.run(1ms);
    ASSERT_TRUE(bench.unit->sessions().empty());
    bench.run(kKept + (is_late ? 1s : -1s));
    ASSERT_TRUE(bench.connect(host));
    EXPECT_EQ(bench.digest(host) == before, !is_late);
  }
}

TEST(AwayTest, another_process_of_the_host_begins_anew) {
  UnitBench bench;
  TestHost& host = bench.add_host();
  TestHost& fresh = bench.add_host();
  ASSERT_TRUE(bench.connect(fresh));
  const std::string nothing = bench.digest(fresh);
  ASSERT_TRUE(set_up(bench, host, mac_number(1)));
  ASSERT_NE(bench.digest(host), nothing);
  host.start();
  ASSERT_TRUE(bench.connect(host));
  EXPECT_EQ(bench.digest(host), nothing);
}

TEST_F(AwayHost, a_unit_that_was_restarted_has_another_digest) {
  bench.start_unit();
  ASSERT_TRUE(bench.run_until([&] { return !host.refusal.empty(); }, 10s));
  ASSERT_TRUE(bench.connect(host));
  EXPECT_NE(bench.digest(host), before);
}

TEST_F(AwayHost, a_smaller_mtu_of_the_lan_shows_in_the_digest) {
  host.end();
  bench.run(1ms);
  bench.lan().mutable_state().mtu = 1300;
  bench.unit->nics()[0]->on_event();
  ASSERT_TRUE(bench.connect(host));
  EXPECT_NE(bench.digest(host), before);
}

TEST_F(AwayHost, an_address_is_free_as_soon_as_its_host_has_gone) {
  TestHost& other = bench.add_host();
  ASSERT_TRUE(bench.attach(other, mac_number(2)));
  host.end();
  bench.run(1ms);
  EXPECT_EQ(bench.set_mac(other, mac_number(1)), CfgStatus::kOk);
  ASSERT_TRUE(bench.connect(host));
  EXPECT_NE(bench.digest(host), before) << "the address has another owner";
  EXPECT_EQ(bench.set_mac(host, mac_number(1)), CfgStatus::kNotPermitted);
}

// The link is lost and the connection lives on.
TEST(AwayTest, nothing_is_queued_for_a_host_whose_link_is_down) {
  TwoHosts bench;
  TestHost& host = bench.host;
  TestHost& other = bench.other;
  host.faults.set_cut(true);
  bench.run(2s);
  for (std::uint32_t i = 0; i < 10; ++i) bench.lan().queue(frame_of(mac_number(1), kPeer, i));
  ASSERT_TRUE(other.push(frame_of(mac_number(1), mac_number(2), 50)));
  bench.run(5ms);
  EXPECT_EQ(bench.count("lan.rx.drop.no_host"), 10U);
  EXPECT_EQ(bench.count("iou.from_host.drop.away"), 1U);
  EXPECT_EQ(bench.count("iou.host_to_host"), 0U);
  EXPECT_TRUE(bench.written[0].empty()) << "its address is still its own";
  host.faults.set_cut(false);
  ASSERT_TRUE(bench.run_until([&] { return host.link_up() && host.up(); }, 5s));
  bench.run(100ms);
  EXPECT_TRUE(host.got.empty());
  bench.lan().queue(frame_of(mac_number(1), kPeer, 60));
  bench.run(5ms);
  EXPECT_EQ(host.got, std::vector<Frame>{frame_of(mac_number(1), kPeer, 60)});
}

TEST(AwayTest, a_host_that_does_not_come_back_loses_its_address) {
  TwoHosts bench;
  TestHost& host = bench.host;
  TestHost& other = bench.other;
  host.faults.set_cut(true);
  bench.run(59s);
  EXPECT_EQ(bench.unit->sessions().size(), 2U);
  EXPECT_EQ(bench.set_mac(other, mac_number(1)), CfgStatus::kNotPermitted);
  bench.run(3s);
  EXPECT_EQ(bench.unit->sessions().size(), 1U);
  EXPECT_EQ(bench.count("iou.hosts.silent"), 1U);
  ASSERT_TRUE(other.push(frame_of(mac_number(1), mac_number(2), 1)));
  bench.run(5ms);
  EXPECT_EQ(bench.written[0].size(), 1U) << "it may be on the LAN now";
}

}  // namespace
}  // namespace splitnic::iou::bench
