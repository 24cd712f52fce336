// Exclusive NICs: one host at a time, whose address and filter the NIC has.
#include "messaging/any_nic.h"
#include "tests/unit/iou_module/parsed_options.h"
#include "tests/unit/iou_module/rights_fixture.h"

namespace splitnic::iou::harness::nic_ownership_test {
namespace {

using lan::ReceiveFilter;

const lan::MacAddress kHostMac = mac_number(1);

struct NicOwnershipTest : testing::Test {
  bool attach() { return harness.attach(host, kHostMac); }
  lan::MacAddress nic_mac() { return harness.lan().state().mac; }
  const ReceiveFilter& received() { return harness.lan().receive_filter; }
  CfgReply set_filter(const cfg::Filter& filter) {
    cfg::SetFilterRequest request;
    *request.mutable_filter() = filter;
    return harness.ask(host, CfgCode::kSetFilter, request);
  }

  UnitHarness harness{{.policy = {.ownership = {.is_exclusive = true, .mac_follows = true}}}};
  TestHost& host = harness.add_host();
  TestHost& other = harness.add_host();
};

TEST_F(NicOwnershipTest, S001_50_the_nic_has_the_address_of_its_owner_and_its_own_when_that_left) {
  harness.run(5ms);
  EXPECT_EQ(nic_mac(), kNicMac);
  ASSERT_TRUE(attach());
  harness.run(NicOwnership::kInterval);
  EXPECT_EQ(nic_mac(), kHostMac);
  ASSERT_EQ(harness.set_mac(host, mac_number(7)), CfgStatus::kOk);
  harness.run(NicOwnership::kInterval);
  EXPECT_EQ(nic_mac(), mac_number(7));
  harness.lan().queue(frame_of(mac_number(7), kPeer));
  harness.run(5ms);
  EXPECT_EQ(host.got.size(), 1U);
  host.end();
  harness.run(NicOwnership::kReservedFor - 100ms);
  EXPECT_EQ(nic_mac(), mac_number(7)) << "it may come back";
  harness.run(200ms);
  EXPECT_EQ(nic_mac(), kNicMac);
}

TEST_F(NicOwnershipTest, S001_50_reset_and_a_stop_of_the_unit_bring_the_address_back) {
  ASSERT_TRUE(attach());
  harness.run(NicOwnership::kInterval);
  ASSERT_EQ(harness.ask(host, CfgCode::kReset).status, CfgStatus::kOk);
  harness.run(NicOwnership::kReservedFor);
  EXPECT_EQ(nic_mac(), kNicMac);
  ASSERT_EQ(harness.set_mac(host, kHostMac), CfgStatus::kOk);
  harness.run(NicOwnership::kInterval);
  EXPECT_EQ(nic_mac(), kHostMac);
  harness.unit->stop(harness.clock.now());
  EXPECT_EQ(nic_mac(), kNicMac);
}

// A frame for the owner passes at all times: until the address follows, it is one more of the NIC.
TEST_F(NicOwnershipTest, M_7_the_address_changes_once_in_an_interval) {
  ASSERT_TRUE(attach());
  harness.run(NicOwnership::kInterval);
  const std::uint64_t before = harness.lan().mac_calls;
  for (std::uint8_t i = 10; i < 15; ++i) {
    ASSERT_EQ(harness.set_mac(host, mac_number(i)), CfgStatus::kOk);
    harness.run(5ms);
  }
  EXPECT_LE(harness.lan().mac_calls, before + 1);
  EXPECT_EQ(received().unicast, std::vector{mac_number(14)});
  harness.run(NicOwnership::kInterval);
  EXPECT_EQ(nic_mac(), mac_number(14));
  EXPECT_LE(harness.lan().mac_calls, before + 2);
}

TEST_F(NicOwnershipTest, S001_50_a_nic_that_keeps_its_address_receives_for_its_owner) {
  harness.lan().refused_mac = kHostMac;
  ASSERT_TRUE(attach());
  harness.run(10s);
  EXPECT_EQ(nic_mac(), kNicMac);
  EXPECT_EQ(received().unicast, std::vector{kHostMac});
  EXPECT_EQ(harness.lan().mac_calls, 1U) << "it is not tried again and again";
  ASSERT_EQ(harness.set_mac(host, mac_number(7)), CfgStatus::kOk);
  harness.run(NicOwnership::kInterval);
  EXPECT_EQ(nic_mac(), mac_number(7)) << "another address is another attempt";
}

TEST_F(NicOwnershipTest, S001_50_the_nic_receives_what_its_owner_asks_for) {
  harness.run(5ms);
  EXPECT_EQ(received(), ReceiveFilter{}) << "nothing without an owner";
  ASSERT_TRUE(attach());
  harness.run(NicOwnership::kInterval);
  EXPECT_EQ(received(), ReceiveFilter{.all_multicast = true}) << "before the first SET_FILTER";
  const lan::MacAddress group{0x01, 0, 0x5E, 0, 0, 9};
  cfg::Filter filter;
  filter.add_unicast(bytes(mac_number(5)));
  filter.add_multicast(bytes(group));
  ASSERT_EQ(set_filter(filter).status, CfgStatus::kOk);
  harness.run(5ms);
  EXPECT_EQ(received(), (ReceiveFilter{.unicast = {mac_number(5)}, .multicast = {group}}));
  filter.set_no_multicast(true);
  filter.set_no_unicast(true);
  ASSERT_EQ(set_filter(filter).status, CfgStatus::kOk);
  harness.run(5ms);
  EXPECT_EQ(received(), ReceiveFilter{});
  filter.set_no_unicast(false);
  ASSERT_EQ(set_filter(filter).status, CfgStatus::kOk);
  harness.run(5ms);
  EXPECT_EQ(received(), ReceiveFilter{.unicast = {mac_number(5)}});
  ASSERT_EQ(harness.ask(host, CfgCode::kStop).status, CfgStatus::kOk);
  harness.run(5ms);
  EXPECT_EQ(received(), ReceiveFilter{}) << "its NIC is stopped";
}

TEST_F(NicOwnershipTest, H_2_promiscuous_mode_is_a_right_of_the_owner_as_well) {
  ASSERT_TRUE(attach());
  cfg::Filter filter;
  filter.set_promiscuous(true);
  EXPECT_EQ(set_filter(filter).status, CfgStatus::kNotPermitted);
  harness.run(5ms);
  EXPECT_FALSE(received().promiscuous);
}

TEST_F(NicOwnershipTest, S001_46_another_host_is_refused_by_the_name_of_the_owner) {
  ASSERT_TRUE(attach());
  EXPECT_FALSE(harness.connect(other));
  EXPECT_THAT(other.refusal, testing::HasSubstr("the host host1 has it until it leaves"));
  EXPECT_GE(harness.count("iou.hosts.refused_owned"), 1U);
  EXPECT_TRUE(host.up());
  host.end();
  harness.run(NicOwnership::kReservedFor);
  ASSERT_TRUE(harness.attach(other, mac_number(2)));
  harness.run(NicOwnership::kInterval);
  EXPECT_EQ(nic_mac(), mac_number(2));
}

// Another process of the owner, and another connection, are the owner.
TEST_F(NicOwnershipTest, S001_46_the_owner_comes_back_at_any_time) {
  ASSERT_TRUE(attach());
  harness.run(NicOwnership::kInterval);
  EXPECT_TRUE(attach());
  host.start();
  EXPECT_TRUE(attach());
  harness.run(NicOwnership::kInterval);
  EXPECT_EQ(nic_mac(), kHostMac);
}

// Nothing changes at the card, and nobody else comes in between.
TEST_F(NicOwnershipTest, S001_46_a_restarted_owner_finds_the_nic_as_it_was) {
  ASSERT_TRUE(attach());
  harness.run(NicOwnership::kInterval);
  const std::uint64_t before = harness.lan().mac_calls;
  host.end();
  harness.run(100ms);
  EXPECT_FALSE(harness.connect(other));
  host.start();
  ASSERT_TRUE(attach());
  harness.run(2 * NicOwnership::kReservedFor);
  EXPECT_EQ(nic_mac(), kHostMac);
  EXPECT_EQ(harness.lan().mac_calls, before);
  EXPECT_FALSE(harness.connect(other));
}

// `--mac nic`: the owner's address may be the one that the NIC had at first, whoever had it before.
TEST_F(NicOwnershipTest, each_owner_may_have_the_address_of_the_nic) {
  for (TestHost* owner : {&host, &other}) {
    ASSERT_TRUE(harness.attach(*owner, kNicMac));
    harness.run(NicOwnership::kInterval);
    EXPECT_EQ(nic_mac(), kNicMac);
    EXPECT_TRUE(received().unicast.empty());
    owner->end();
    harness.run(NicOwnership::kReservedFor + NicOwnership::kInterval);
    EXPECT_EQ(nic_mac(), kNicMac);
  }
}

TEST_F(NicOwnershipTest, S001_50_an_address_that_somebody_else_sets_does_not_stay) {
  ASSERT_TRUE(attach());
  harness.run(NicOwnership::kInterval);
  harness.lan().mutable_state().mac = kPeer;
  for (const auto& nic : harness.unit->nics()) nic->on_event();
  harness.run(NicOwnership::kInterval);
  EXPECT_EQ(nic_mac(), kHostMac);
}

// As `splitnic list` comes: it takes the NIC from nobody, and is no owner.
TEST_F(NicOwnershipTest, S001_46_who_comes_to_look_is_no_owner) {
  TestHost& viewer = harness.add_host({.nic = messaging::kAnyNic});
  ASSERT_TRUE(harness.connect(viewer));
  ASSERT_TRUE(attach());
  harness.run(NicOwnership::kInterval);
  EXPECT_EQ(nic_mac(), kHostMac);
  ASSERT_TRUE(harness.connect(viewer));
  EXPECT_EQ(harness.ask(viewer, CfgCode::kListNics).status, CfgStatus::kOk);
  cfg::InitNicRequest init;
  init.set_features_wanted(lan::kOffloadVnet);
  ASSERT_EQ(harness.ask(viewer, CfgCode::kInitNic, init).status, CfgStatus::kOk);
  EXPECT_EQ(harness.ask(viewer, CfgCode::kStart).status, CfgStatus::kNotPermitted);
  EXPECT_TRUE(host.up());
}

TEST(NicsOwnershipTest, S001_46_no_host_takes_another_queue_of_a_nic) {
  UnitHarness harness(
      {.queue = 1, .policy = {.ownership = {.is_exclusive = true, .is_queue_0 = false}}});
  TestHost& owner = harness.add_host();
  TestHost& other = harness.add_host();
  ASSERT_TRUE(harness.connect(owner));
  HostNews news;
  news.node = harness.unit->hosts().at(0)->identity().node();
  owner.end();
  harness.run(5ms);
  harness.unit->on_news(0, news);
  EXPECT_FALSE(harness.connect(other));
  EXPECT_THAT(other.refusal, testing::HasSubstr("another host has it"));
  EXPECT_TRUE(harness.connect(owner)) << owner.refusal;
}

TEST(NicsOwnershipTest, S001_46_each_nic_has_an_owner) {
  UnitHarness harness({.nics = 2, .policy = {.ownership = {.is_exclusive = true}}});
  TestHost& first = harness.add_host();
  TestHost& second = harness.add_host({.nic = 1});
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  harness.run(NicOwnership::kInterval);
  EXPECT_EQ(harness.lan(0).state().mac, kNicMac) << "without --lan-mac follow";
  EXPECT_EQ(harness.lan(0).receive_filter.unicast, std::vector{mac_number(1)});
  EXPECT_EQ(harness.lan(1).receive_filter.unicast, std::vector{mac_number(2)});
}

TEST(NicsOwnershipTest, S001_46_a_nic_is_shared_unless_it_is_exclusive) {
  UnitHarness harness;
  TestHost& first = harness.add_host();
  TestHost& second = harness.add_host();
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  harness.run(NicOwnership::kInterval);
  EXPECT_EQ(harness.lan().state().mac, kNicMac);
  EXPECT_TRUE(harness.lan().receive_filter.promiscuous) << "as it was opened";
}

using parsed_options::expect_refused;
using parsed_options::with;

TEST(OwnershipOptionsTest, S001_50_the_address_of_a_card_follows_its_only_host) {
  const auto outcome = with({"--exclusive", "--lan-mac", "follow"});
  ASSERT_TRUE(outcome.options) << outcome.text;
  EXPECT_TRUE(outcome.options->is_exclusive);
  EXPECT_TRUE(outcome.options->follows_lan_mac);
  EXPECT_FALSE(with({"--exclusive"}).options->follows_lan_mac);
  expect_refused(with({"--lan-mac", "follow"}), 2, "--lan-mac follow: --exclusive is missing");
  for (const char* other : {"tap:tap0", "file:in.pcap,out.pcap"}) {
    expect_refused(with({"--lan", other, "--exclusive", "--lan-mac", "follow"}), 2,
                   std::string("--lan-mac follow: ") + other + " is not a NIC");
    EXPECT_TRUE(with({"--lan", other, "--exclusive"}).options);
  }
}

}  // namespace
}  // namespace splitnic::iou::harness::nic_ownership_test
