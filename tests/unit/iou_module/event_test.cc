// EVENT: a host learns the newest state of its LAN, whatever was lost on the way.
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::event_test {
namespace {

void set_link(UnitHarness& harness, bool up) {
  harness.lan().mutable_state().link_up = up;
  harness.unit->nics()[0]->on_event();
}

TEST(EventTest, S001_24_it_is_reported_after_a_blackout_that_outlasts_all_tries) {
  for (const auto mode : {messaging::Mode::kSend, messaging::Mode::kRdma}) {
    UnitHarness harness;
    TestHost& host = harness.add_host({.mode = mode});
    ASSERT_TRUE(harness.attach(host, mac_number(1)));
    host.faults.set_cut(true);
    set_link(harness, false);
    harness.run(1800ms);
    EXPECT_EQ(host.events, 0U);
    host.faults.set_cut(false);
    ASSERT_TRUE(harness.run_until([&] { return host.events > 0; }, 5s));
    EXPECT_FALSE(host.event.link().up());
    const std::uint64_t before = host.events;
    harness.run(3s);
    EXPECT_EQ(host.events, before) << "it has replied";
  }
}

TEST(EventTest, S001_24_it_is_reported_after_others_when_all_requests_are_open) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  messaging::Connection& connection = harness.unit->hosts().at(0)->connection();
  while (connection.first().request(CfgCode::kEcho, {}, [](const CfgReply&) {})) {
  }
  set_link(harness, false);
  harness.unit->step(harness.clock.now());
  EXPECT_LE(harness.unit->deadline(), harness.clock.now() + 10ms);
  ASSERT_TRUE(harness.run_until([&] { return host.events > 0; }, 20ms));
  EXPECT_FALSE(host.event.link().up());
}

TEST(EventTest, one_is_outstanding_and_the_newest_state_wins) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  for (int i = 0; i < 99; ++i) {
    set_link(harness, i % 2 != 0);
    harness.run(50us);
  }
  EXPECT_EQ(host.events, 1U);
  harness.run(20ms);
  EXPECT_EQ(host.events, 2U);
  EXPECT_FALSE(host.event.link().up());
  harness.lan().mutable_state().mtu = 1300;
  set_link(harness, true);
  harness.run(20ms);
  EXPECT_EQ(host.events, 3U);
  EXPECT_TRUE(host.event.link().up());
  EXPECT_EQ(host.event.mtu(), 1300U);
}

TEST(EventTest, a_host_that_comes_up_later_is_notified) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.run_until([&] { return host.link_up(); }));
  host.connect();
  while (harness.unit->hosts().empty()) {
    harness.iterate();
    harness.clock.set(harness.clock.now() + 10us);
  }
  ASSERT_FALSE(harness.unit->hosts()[0]->connection().up());
  set_link(harness, false);
  ASSERT_TRUE(harness.run_until([&] { return host.events > 0; }));
  EXPECT_FALSE(host.event.link().up());
}

// The reply to a repeated INIT_NIC comes from the cache, with the link state of that time.
TEST(EventTest, it_is_repeated_if_the_reply_to_init_nic_may_have_come_after_it) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.connect(host));
  cfg::InitNicRequest init;
  init.set_features_wanted(lan::kOffloadVnet);
  ASSERT_EQ(harness.ask(host, CfgCode::kInitNic, init).status, CfgStatus::kOk);
  set_link(harness, false);
  ASSERT_TRUE(harness.run_until([&] { return host.events == 1; }));
  const std::uint64_t first = host.event.generation();
  harness.run(100ms);
  harness.digest(host);
  harness.run(100ms);
  EXPECT_EQ(host.events, 2U);
  EXPECT_GT(host.event.generation(), first);
  EXPECT_FALSE(host.event.link().up());
  harness.digest(host);
  ASSERT_EQ(harness.ask(host, CfgCode::kInitNic, init).status, CfgStatus::kOk);
  harness.digest(host);
  harness.run(100ms);
  EXPECT_EQ(host.events, 2U) << "nothing has changed since";
}

// One of several queues may hear of the LAN's new MTU after its host has asked for it.
TEST(EventTest, S001_25_a_requested_mtu_is_granted_once_the_lan_has_it) {
  TwoHosts harness(true);
  AttachedHost& host = *harness.unit->hosts()[0];
  cfg::SetMtuRequest request;
  request.set_mtu(5000);
  cfg::SetMtuReply reply;
  ASSERT_TRUE(reply.ParseFromString(harness.ask(harness.host, CfgCode::kSetMtu, request).data));
  EXPECT_EQ(reply.mtu(), 1500U);
  for (const auto& [lan, granted] : {std::pair{9000U, 5000U}, {4000U, 4000U}, {6000U, 5000U}}) {
    harness.lan().mutable_state().mtu = lan;
    harness.unit->nics()[0]->on_event();
    EXPECT_EQ(host.nic().mtu, granted) << lan;
  }
}

TEST(EventTest, S001_25_a_host_without_a_request_has_the_mtu_of_the_lan) {
  TwoHosts harness(true);
  const auto set_lan = [&](std::uint32_t mtu) {
    harness.lan().mutable_state().mtu = mtu;
    harness.unit->nics()[0]->on_event();
  };
  for (const std::uint32_t mtu : {9000U, 1500U, 9000U, 1500U}) {
    set_lan(mtu);
    EXPECT_EQ(harness.unit->hosts().at(0)->nic().mtu, mtu);
  }
  harness.host.end();
  harness.run(1ms);
  set_lan(9000);
  ASSERT_TRUE(harness.connect(harness.host));
  EXPECT_EQ(harness.unit->hosts().at(0)->nic().mtu, 9000U) << "its settings were kept";
}

}  // namespace
}  // namespace splitnic::iou::harness::event_test
