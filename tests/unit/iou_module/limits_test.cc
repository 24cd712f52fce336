// The limits of a host: of its frames and of its requests.
#include <map>

#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::limits_test {
namespace {

struct LimitsTest : testing::Test {
  // Starts the unit with these rights for all, and two hosts.
  void start(HostRights rights, std::uint32_t queues = 1) {
    source = std::make_unique<SameRights>(std::move(rights));
    harness = std::make_unique<UnitHarness>(
        HarnessConfig{.rights = source.get(), .policy = {.queues = queues}});
    host = &harness->add_host();
    other = &harness->add_host();
    ASSERT_TRUE(harness->attach(*host, mac_number(1)));
    ASSERT_TRUE(harness->attach(*other, mac_number(2)));
    harness->run(1s);
  }
  // Sends as many frames as wanted, one every microsecond.
  void send(std::uint32_t frames, const lan::MacAddress& to, std::size_t bytes = 100) {
    for (std::uint32_t i = 0; i < frames;) {
      if (host->push(frame_of(to, mac_number(1), i, 0, bytes))) ++i;
      harness->run(1us);
    }
    harness->run(1ms);
  }
  std::uint64_t count(std::string_view name) const { return harness->count(name); }

  std::unique_ptr<SameRights> source;
  std::unique_ptr<UnitHarness> harness;
  TestHost* host = nullptr;
  TestHost* other = nullptr;
};

TEST_F(LimitsTest, M_3_group_frames_beyond_the_limit_reach_nobody) {
  start({.group_frames_per_second = 1000});
  send(500, kBroadcast);
  const std::uint64_t dropped = count("host.host1.iou.from_host.drop.storm");
  EXPECT_GE(dropped, 380U);
  EXPECT_LE(dropped, 400U) << "a burst of 100";
  EXPECT_EQ(other->got.size(), 500 - dropped);
  EXPECT_EQ(harness->written[0].size(), 500 - dropped);
  send(500, kPeer);
  EXPECT_EQ(count("iou.from_host.drop.storm"), dropped) << "others are not group frames";
  harness->run(1s);
  send(100, {0x01, 0, 0x5E, 0, 0, 1});
  EXPECT_EQ(count("iou.from_host.drop.storm"), dropped) << "a second later";
}

TEST_F(LimitsTest, M_3_each_host_has_its_own_limit) {
  start({.group_frames_per_second = 1000});
  send(500, kBroadcast);
  ASSERT_TRUE(other->push(frame_of(kBroadcast, mac_number(2))));
  harness->run(1ms);
  EXPECT_EQ(count("host.host2.iou.from_host.drop.storm"), 0U);
}

TEST_F(LimitsTest, M_3_a_new_connection_brings_no_new_burst) {
  start({.group_frames_per_second = 100});
  send(50, kBroadcast);
  const std::size_t before = harness->written[0].size();
  ASSERT_GE(before, 10U);
  const base::Time begin = harness->clock.now();
  host->end();
  ASSERT_TRUE(harness->attach(*host, mac_number(1)));
  send(50, kBroadcast);
  const auto elapsed = (harness->clock.now() - begin) / 10ms;
  EXPECT_LE(harness->written[0].size() - before, static_cast<std::size_t>(elapsed) + 2);
}

TEST_F(LimitsTest, M_3_other_rights_bring_no_new_burst) {
  start({.group_frames_per_second = 100});
  send(50, kBroadcast);
  const std::size_t before = harness->written[0].size();
  *source = SameRights({.may_sniff = true, .group_frames_per_second = 100});
  harness->unit->update_rights(harness->clock.now());
  send(50, kBroadcast);
  EXPECT_LE(harness->written[0].size() - before, 3U);
  *source = SameRights({.group_frames_per_second = 0});
  harness->unit->update_rights(harness->clock.now());
  send(50, kBroadcast);
  EXPECT_GE(harness->written[0].size() - before, 50U) << "no limit any more";
}

TEST_F(LimitsTest, M_3_a_debt_outlives_the_connection) {
  start({.bits_per_second = 8'000});
  const std::size_t before = harness->written[0].size();
  for (int i = 0; i < 4; ++i) {
    send(1, kPeer, 1514);
    host->end();
    ASSERT_TRUE(harness->attach(*host, mac_number(1)));
    harness->run(Iou::kAttachIntervalOfLink / 10);
  }
  EXPECT_LE(harness->written[0].size() - before, 2U) << "its 12304 bits take 1.5 s";
}

TEST_F(LimitsTest, M_3_each_queue_has_its_part_of_a_limit) {
  start({.group_frames_per_second = 1000}, 4);
  send(100, kBroadcast);
  EXPECT_GE(count("iou.from_host.drop.storm"), 70U) << "a burst of 25";
}

TEST_F(LimitsTest, frames_beyond_the_rate_are_dropped_and_the_average_is_the_rate) {
  start({.frames_per_second = 1000});
  const std::uint64_t kFrames = 2000;
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    host->push(frame_of(kPeer, mac_number(1), i));
    harness->run(500us);
  }
  const std::uint64_t passed = harness->written[0].size();
  EXPECT_NEAR(static_cast<double>(passed), 1000 + 100, 20);
  EXPECT_EQ(count("host.host1.iou.from_host.drop.rate"), kFrames - passed);
  EXPECT_EQ(count("iou.from_host.frames"), kFrames);
}

TEST_F(LimitsTest, bits_are_those_of_the_wire) {
  start({.bits_per_second = 8 * 124 * 1000});  // 1000 frames of 100 bytes and a gap of 24
  send(500, kPeer, lan::kVnetHeaderBytes + 100);
  EXPECT_NEAR(static_cast<double>(harness->written[0].size()), 100, 10);
}

TEST_F(LimitsTest, without_a_limit_nothing_is_dropped) {
  start({.group_frames_per_second = 0});
  send(3000, kBroadcast);
  EXPECT_EQ(harness->written[0].size(), 3000U);
}

TEST(HostMeterTest, M_3_a_super_frame_is_charged_for_each_frame_on_the_wire) {
  const base::Time now{1000s};
  HostMeter meter({.group_frames_per_second = 1000}, 1);
  EXPECT_EQ(meter.take(true, {99, 99 * 1500}, now), HostMeter::Verdict::kPass);
  EXPECT_EQ(meter.take(true, {46, 46 * 1500}, now), HostMeter::Verdict::kPass) << "a debt of 45";
  EXPECT_EQ(meter.take(true, {1, 100}, now), HostMeter::Verdict::kStorm);
  EXPECT_EQ(meter.take(true, {1, 100}, now + 44ms), HostMeter::Verdict::kStorm);
  EXPECT_EQ(meter.take(true, {1, 100}, now + 47ms), HostMeter::Verdict::kPass);
  EXPECT_EQ(meter.take(false, {500, 1 << 20}, now), HostMeter::Verdict::kPass) << "no limit";
}

// All but ECHO. The reply to a request that was too early has the status busy.
TEST_F(LimitsTest, M_2_a_host_has_fifty_requests_per_second) {
  start({});
  std::map<CfgStatus, int> replies;
  const auto ask = [&](CfgCode code) {
    static_cast<void>(
        host->pair->request(code, {}, [&](const CfgReply& reply) { ++replies[reply.status]; }));
    harness->run(1ms);
  };
  for (int i = 0; i < 1000; ++i) ask(CfgCode::kGetLink);
  EXPECT_GE(replies[CfgStatus::kOk], 60);
  EXPECT_LE(replies[CfgStatus::kOk], 50 + 20 + 2);
  EXPECT_EQ(replies[CfgStatus::kOk] + replies[CfgStatus::kBusy], 1000);
  EXPECT_EQ(count("host.host1.iou.from_host.busy"),
            static_cast<std::uint64_t>(replies[CfgStatus::kBusy]));
  replies.clear();
  for (int i = 0; i < 200; ++i) ask(CfgCode::kEcho);
  EXPECT_EQ(replies[CfgStatus::kOk], 200);
  EXPECT_EQ(harness->ask(*other, CfgCode::kGetLink).status, CfgStatus::kOk);
  EXPECT_EQ(count("host.host2.iou.from_host.busy"), 0U);
}

TEST_F(LimitsTest, M_2_a_new_connection_brings_no_new_requests) {
  start({});
  std::map<CfgStatus, int> replies;
  const auto ask = [&](int times) {
    for (int i = 0; i < times; ++i) {
      static_cast<void>(host->pair->request(
          CfgCode::kGetLink, {}, [&](const CfgReply& reply) { ++replies[reply.status]; }));
      harness->run(100us);
    }
  };
  ask(200);
  harness->run(5ms);
  host->end();
  ASSERT_TRUE(harness->connect(*host));
  replies.clear();
  ask(50);
  EXPECT_LE(replies[CfgStatus::kOk], 8);
}

struct MtuTest : testing::Test {
  void SetUp() override {
    harness.lan().mutable_state().mtu = 9000;
    harness.unit->nics()[0]->on_event();
    ASSERT_TRUE(harness.attach(host, mac_number(1)));
  }
  std::uint32_t set_mtu(TestHost& who, std::uint32_t mtu) {
    cfg::SetMtuRequest request;
    request.set_mtu(mtu);
    const CfgReply reply = harness.ask(who, CfgCode::kSetMtu, request);
    EXPECT_EQ(reply.status, CfgStatus::kOk);
    cfg::SetMtuReply got;
    EXPECT_TRUE(got.ParseFromString(reply.data));
    return got.mtu();
  }
  std::uint32_t mtu() { return harness.lan().state().mtu; }
  // The other host and a third one are attached, and the NIC has 4000 for the next ten seconds.
  void set_mtu_of_all() {
    TestHost& third = harness.add_host();
    ASSERT_TRUE(harness.attach(other, mac_number(2)));
    ASSERT_TRUE(harness.attach(third, mac_number(3)));
    ASSERT_EQ(set_mtu(host, 1500), 1500U);
    ASSERT_EQ(set_mtu(other, 1500), 1500U);
    ASSERT_EQ(set_mtu(third, 4000), 4000U);
    ASSERT_EQ(mtu(), 4000U);
  }

  UnitHarness harness{{.policy = {.mtu_follows = true}}};
  TestHost& host = harness.add_host();
  TestHost& other = harness.add_host();
};

TEST_F(MtuTest, M_7_the_nic_changes_once_in_ten_seconds_and_to_the_newest_mtu) {
  EXPECT_EQ(set_mtu(host, 5000), 5000U);
  EXPECT_EQ(mtu(), 5000U) << "the first at once";
  const std::uint64_t calls = harness.lan().mtu_calls;
  const base::Time begin = harness.clock.now();
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; harness.clock.now() < begin + 25s; ++i) {
    last = 1500 + i % 5 * 100;
    set_mtu(host, last);
    harness.run(100ms);
  }
  EXPECT_LE(harness.lan().mtu_calls - calls, 2U);
  EXPECT_GE(harness.lan().mtu_calls - calls, 1U);
  harness.run(10s);
  EXPECT_EQ(mtu(), last);
  EXPECT_EQ(harness.unit->hosts().at(0)->nic().mtu, last);
}

TEST_F(MtuTest, M_7_the_host_gets_what_the_nic_has_and_hears_of_the_change) {
  ASSERT_EQ(set_mtu(host, 1500), 1500U);
  EXPECT_EQ(set_mtu(host, 4000), 1500U) << "too early";
  ASSERT_TRUE(harness.run_until([&] { return host.event.mtu() == 4000; }, 11s));
  EXPECT_EQ(harness.unit->hosts().at(0)->nic().mtu, 4000U);
}

TEST_F(MtuTest, M_7_the_nic_keeps_what_another_started_host_has) {
  ASSERT_TRUE(harness.attach(other, mac_number(2)));
  ASSERT_EQ(set_mtu(other, 4000), 4000U);
  EXPECT_EQ(mtu(), 9000U) << "the first host has that";
  harness.run(11s);
  ASSERT_EQ(set_mtu(host, 1500), 1500U);
  EXPECT_EQ(mtu(), 4000U);
  harness.run(11s);
  ASSERT_EQ(harness.ask(other, CfgCode::kStop).status, CfgStatus::kOk);
  ASSERT_EQ(set_mtu(host, 1400), 1400U);
  EXPECT_EQ(mtu(), 1400U);
}

TEST_F(MtuTest, M_7_a_request_that_came_too_early_survives_those_of_other_hosts) {
  set_mtu_of_all();
  EXPECT_EQ(set_mtu(host, 9000), 4000U) << "too early";
  EXPECT_EQ(set_mtu(other, 1500), 1500U);
  EXPECT_EQ(mtu(), 4000U);
  harness.run(11s);
  EXPECT_EQ(mtu(), 9000U);
  EXPECT_EQ(harness.unit->hosts().at(0)->nic().mtu, 9000U);
}

TEST_F(MtuTest, M_7_a_host_takes_back_its_own_request_alone) {
  set_mtu_of_all();
  set_mtu(host, 7000);
  set_mtu(host, 6000);
  set_mtu(other, 9000);
  set_mtu(other, 1500);
  harness.run(11s);
  EXPECT_EQ(mtu(), 6000U);
}

TEST_F(MtuTest, M_7_a_request_that_the_nic_refuses_costs_the_newest_one_nothing) {
  set_mtu_of_all();
  harness.lan().mtu_max = 5000;
  set_mtu(host, 9000);
  set_mtu(other, 4500);
  harness.run(11s);
  EXPECT_EQ(mtu(), 4500U);
}

// A card that was replaced; the last change may be as fresh as it likes.
TEST_F(MtuTest, S001_25_B_05_a_nic_that_is_back_gets_the_mtu_that_hosts_have_requested) {
  ASSERT_TRUE(harness.attach(other, mac_number(2)));
  ASSERT_EQ(set_mtu(host, 8000), 8000U);
  ASSERT_EQ(set_mtu(other, 4000), 4000U);
  harness.lan().mutable_state().mtu = 1500;
  harness.unit->nics()[0]->on_return();
  EXPECT_EQ(mtu(), 8000U);
  EXPECT_EQ(harness.unit->hosts().at(0)->nic().mtu, 8000U);
  EXPECT_EQ(harness.unit->hosts().at(1)->nic().mtu, 4000U);

  ASSERT_EQ(harness.ask(host, CfgCode::kStop).status, CfgStatus::kOk);
  harness.lan().mutable_state().mtu = 1500;
  harness.unit->nics()[0]->on_return();
  EXPECT_EQ(mtu(), 4000U);
}

TEST_F(MtuTest, B_05_a_nic_that_is_back_keeps_its_mtu_if_no_host_has_requested_one) {
  const std::uint64_t calls = harness.lan().mtu_calls;
  harness.lan().mutable_state().mtu = 1500;
  harness.unit->nics()[0]->on_event();
  harness.unit->nics()[0]->on_return();
  EXPECT_EQ(mtu(), 1500U);
  EXPECT_EQ(harness.lan().mtu_calls, calls);
}

}  // namespace
}  // namespace splitnic::iou::harness::limits_test
