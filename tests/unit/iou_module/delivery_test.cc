// SET_QUEUES, SET_COALESCE, SET_QOS and LIST_NICS at the I/O unit. [S001-49]
#include "control/daemon/common_options.h"
#include "messaging/cfgutil/list_nics.h"
#include "tests/unit/iou_module/rights_fixture.h"

namespace splitnic::iou::harness::delivery_test {
namespace {

CfgReply set_coalescing(UnitHarness& harness, TestHost& host, std::uint32_t microseconds,
                        std::uint32_t frames = 0) {
  cfg::SetCoalesceRequest request;
  request.set_microseconds(microseconds);
  request.set_frames(frames);
  return harness.ask(host, CfgCode::kSetCoalesce, request);
}

CfgReply set_priority_5(UnitHarness& harness, TestHost& host, char level) {
  std::string priorities(8, '\xFF');
  priorities[5] = level;
  cfg::SetQosRequest request;
  request.set_priorities(priorities);
  return harness.ask(host, CfgCode::kSetQos, request);
}

using DeliveryTest = RightsFixture;

TEST_F(DeliveryTest, P_CFG_29_no_more_queues_than_the_unit_and_the_rights_permit) {
  UnitHarness unit({.policy = {.queues = 4}});
  TestHost& one = unit.add_host();
  ASSERT_TRUE(unit.attach(one, mac_number(1)));
  const auto ask = [&](std::uint32_t queues) {
    cfg::SetQueuesRequest request;
    request.set_queues(queues);
    return unit.ask(one, CfgCode::kSetQueues, request);
  };
  cfg::SetQueuesReply reply;
  ASSERT_TRUE(reply.ParseFromString(ask(3).data));
  EXPECT_EQ(reply.queues(), 3U);
  ASSERT_TRUE(reply.ParseFromString(ask(8).data));
  EXPECT_EQ(reply.queues(), 4U);
  EXPECT_EQ(ask(0).status, CfgStatus::kBadValue);
  EXPECT_EQ(ask(9).status, CfgStatus::kBadValue);
  EXPECT_EQ(unit.unit->hosts().at(0)->nic().queues, 4U) << "what was refused has changed nothing";
}

TEST_F(DeliveryTest, P_CFG_30_frames_wait_for_others_or_for_the_time) {
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  ASSERT_EQ(set_coalescing(harness, host, 20'000, 3).status, CfgStatus::kOk);
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  harness.run(19ms);
  EXPECT_EQ(host.got.size(), 0U);
  harness.run(2ms);
  EXPECT_EQ(host.got.size(), 1U) << "after 20 ms";
  for (int i = 0; i < 3; ++i) harness.lan().queue(frame_of(mac_number(1), kPeer));
  harness.run(1ms);
  EXPECT_EQ(host.got.size(), 4U) << "three at once";
  ASSERT_EQ(set_coalescing(harness, host, 0).status, CfgStatus::kOk);
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  harness.run(1ms);
  EXPECT_EQ(host.got.size(), 5U) << "without coalescing";
}

TEST_F(DeliveryTest, P_CFG_30_values_beyond_the_limits_change_nothing) {
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  ASSERT_EQ(set_coalescing(harness, host, 100'000, 1024).status, CfgStatus::kOk);
  const std::string before = harness.digest(host);
  EXPECT_EQ(set_coalescing(harness, host, 100'001).status, CfgStatus::kBadValue);
  EXPECT_EQ(set_coalescing(harness, host, 1, 1025).status, CfgStatus::kBadValue);
  cfg::SetCoalesceRequest bytes;
  bytes.set_bytes((1 << 20) + 1);
  EXPECT_EQ(harness.ask(host, CfgCode::kSetCoalesce, bytes).status, CfgStatus::kBadValue);
  EXPECT_EQ(harness.digest(host), before);
}

TEST_F(DeliveryTest, P_CFG_20_reset_ends_them) {
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  ASSERT_EQ(set_coalescing(harness, host, 50'000).status, CfgStatus::kOk);
  ASSERT_EQ(set_priority_5(harness, host, 3).status, CfgStatus::kOk);
  ASSERT_EQ(harness.ask(host, CfgCode::kReset).status, CfgStatus::kOk);
  ASSERT_EQ(harness.set_mac(host, mac_number(1)), CfgStatus::kOk);
  ASSERT_TRUE(harness.start(host));
  EXPECT_TRUE(nic_of(host).qos.empty());
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  harness.run(1ms);
  EXPECT_EQ(host.got.size(), 1U);
}

TEST_F(DeliveryTest, P_CFG_31_a_map_is_kept_and_in_force_as_far_as_levels_have_queues) {
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  const CfgReply got = set_priority_5(harness, host, 3);
  ASSERT_EQ(got.status, CfgStatus::kOk);
  cfg::SetQosReply reply;
  ASSERT_TRUE(reply.ParseFromString(got.data));
  EXPECT_EQ(reply.priorities(), "") << "this connection has one queue";
  EXPECT_EQ(nic_of(host).qos.priorities[5], 3);
  EXPECT_EQ(set_priority_5(harness, host, 16).status, CfgStatus::kBadValue);
  EXPECT_EQ(nic_of(host).qos.priorities[5], 3);
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  harness.run(1ms);
  EXPECT_EQ(host.got.size(), 1U) << "on queue 0";
}

TEST_F(DeliveryTest, P_CFG_31_a_host_whose_level_is_set_has_no_map) {
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  ASSERT_EQ(set_priority_5(harness, host, 3).status, CfgStatus::kOk);
  source.rights[1].sl = 2;
  harness.unit->update_rights(harness.clock.now());
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  EXPECT_TRUE(nic_of(host).qos.empty()) << "what it had ends";
  EXPECT_EQ(set_priority_5(harness, host, 3).status, CfgStatus::kNotPermitted);
  EXPECT_EQ(harness.count("iou.from_host.refused_level"), 1U);
  EXPECT_EQ(harness.ask(host, CfgCode::kSetQos, cfg::SetQosRequest{}).status, CfgStatus::kOk)
      << "an empty map";
}

TEST_F(DeliveryTest, S001_49_P_CFG_33_a_host_sees_the_nics_that_it_may_use) {
  RightsByHost rights_of;
  rights_of.rights[1].nics = {0, 2};
  UnitHarness unit({.nics = 3, .rights = &rights_of});
  TestHost& some = unit.add_host({.nic = 2});
  TestHost& all = unit.add_host();
  ASSERT_TRUE(unit.attach(some, mac_number(1)));
  ASSERT_TRUE(unit.attach(all, mac_number(2)));
  cfg::ListNicsReply reply;
  ASSERT_TRUE(reply.ParseFromString(unit.ask(some, CfgCode::kListNics).data));
  ASSERT_EQ(reply.nics_size(), 2);
  EXPECT_EQ(reply.nics(0).number(), 0U);
  EXPECT_FALSE(reply.nics(0).in_use());
  EXPECT_EQ(reply.nics(1).number(), 2U);
  EXPECT_TRUE(reply.nics(1).in_use());
  EXPECT_EQ(reply.nics(1).mac(), bytes(unit.lan(2).state().mac));
  EXPECT_EQ(reply.nics(1).mtu(), unit.lan(2).state().mtu);
  ASSERT_TRUE(reply.ParseFromString(unit.ask(all, CfgCode::kListNics).data));
  EXPECT_EQ(reply.nics_size(), 3);
}

TEST_F(DeliveryTest, P_CFG_33_the_largest_unit_lists_all_of_its_nics) {
  UnitHarness unit({.nics = control::kNicsMax});
  for (std::size_t nic = 0; nic < control::kNicsMax; ++nic) {
    unit.lan(nic).mutable_state().speed_mbps = 400'000;
    unit.unit->nics()[nic]->on_event();
  }
  TestHost& one = unit.add_host({.nic = control::kNicsMax - 1});
  ASSERT_TRUE(unit.connect(one));
  const CfgReply got = unit.ask(one, CfgCode::kListNics);
  ASSERT_EQ(got.status, CfgStatus::kOk);
  EXPECT_LE(got.data.size(), messaging::list_nics_bytes_max(control::kNicsMax));
  cfg::ListNicsReply reply;
  ASSERT_TRUE(reply.ParseFromString(got.data));
  ASSERT_EQ(reply.nics_size(), static_cast<int>(control::kNicsMax));
  const cfg::ListedNic& last = *reply.nics().rbegin();
  EXPECT_EQ(last.number(), control::kNicsMax - 1);
  EXPECT_EQ(last.link().speed_mbps(), 400'000U);
  EXPECT_TRUE(last.in_use());
}

}  // namespace
}  // namespace splitnic::iou::harness::delivery_test
