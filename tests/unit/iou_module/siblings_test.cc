// Two queues of one I/O unit, each with its own hosts, and news and handed frames between them.
#include "iou_module/queue_set.h"
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::siblings_test {
namespace {

const lan::MacAddress kMac = mac_number(1);
const lan::MacAddress kOtherMac = mac_number(2);

// The hosts with the same number of both queues are one host, as its identity is the same.
struct TwoQueues {
  TwoQueues() {
    for (std::size_t queue = 0; queue < 2; ++queue) {
      set.connect(queue, [this, queue](auto command) {
        if (!takes_mail) return false;
        command(*units[queue]->unit, units[queue]->clock.now());
        return true;
      });
    }
  }
  // In rounds of one step each. What one queue hands to the other waits for as long, at most.
  void run(base::Duration span = 20ms, base::Duration step = 1ms) {
    for (base::Duration done{}; done < span; done += step) {
      for (UnitHarness* unit : units) unit->run(step);
    }
  }
  std::uint64_t count(std::string_view name) const { return q0.count(name) + q1.count(name); }

  bool takes_mail = true;
  QueueSet set{2};
  UnitHarness q0{{.queue = 0, .siblings = set.of(0)}};
  UnitHarness q1{{.queue = 1, .siblings = set.of(1)}};
  std::array<UnitHarness*, 2> units{&q0, &q1};
  TestHost& host = q0.add_host();
  TestHost& host_at_1 = q1.add_host();
  TestHost& other = q0.add_host();
  TestHost& other_at_1 = q1.add_host();
};

struct SiblingsTest : testing::Test, TwoQueues {};

TEST_F(SiblingsTest, one_queue_has_no_siblings) { EXPECT_EQ(QueueSet(1).of(0), nullptr); }

TEST_F(SiblingsTest, a_frame_of_the_lan_for_a_host_of_another_queue_is_handed_to_it) {
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  q1.lan().queue(frame_of(kMac, kPeer, 7));
  q1.lan().queue(frame_of(kOtherMac, kPeer, 8));
  run();
  ASSERT_EQ(host.got.size(), 1U);
  EXPECT_EQ(host.got[0], frame_of(kMac, kPeer, 7));
  EXPECT_EQ(q1.count("iou.handed.frames"), 1U);
  EXPECT_EQ(q1.count("lan.rx.drop.no_host"), 1U);
  EXPECT_EQ(q0.count("iou.to_host.frames"), 1U);
}

TEST_F(SiblingsTest, a_broadcast_reaches_each_host_once) {
  ASSERT_TRUE(q0.attach(host, kMac));
  ASSERT_TRUE(q0.attach(other, kOtherMac));
  run();
  ASSERT_TRUE(q1.attach(other_at_1, kOtherMac));
  run();
  q1.lan().queue(frame_of(kBroadcast, kPeer));
  run();
  EXPECT_EQ(host.got.size(), 1U);
  EXPECT_EQ(other.got.size(), 0U);
  EXPECT_EQ(other_at_1.got.size(), 1U);
}

TEST_F(SiblingsTest, a_frame_between_hosts_crosses_the_queues_and_not_the_lan) {
  ASSERT_TRUE(q0.attach(host, kMac));
  ASSERT_TRUE(q0.attach(other, kOtherMac));
  run();
  ASSERT_TRUE(q1.attach(other_at_1, kOtherMac));
  run();
  ASSERT_TRUE(other_at_1.push(frame_of(kMac, kOtherMac, 5)));
  ASSERT_TRUE(other_at_1.push(frame_of(kBroadcast, kOtherMac, 6)));
  run();
  ASSERT_EQ(host.got.size(), 2U);
  EXPECT_EQ(host.got[0], frame_of(kMac, kOtherMac, 5));
  EXPECT_TRUE(other.got.empty());  // its own broadcast does not return
  ASSERT_EQ(q1.written[0].size(), 1U);
  EXPECT_EQ(q1.written[0][0], frame_of(kBroadcast, kOtherMac, 6));
  EXPECT_TRUE(q0.written[0].empty());
}

TEST_F(SiblingsTest, an_address_that_a_host_of_another_queue_has_is_refused) {
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  ASSERT_TRUE(q1.attach(other_at_1, kOtherMac));
  EXPECT_EQ(q1.set_mac(other_at_1, kMac), CfgStatus::kNotPermitted);
  ASSERT_TRUE(q1.attach(host_at_1, kMac)) << "it is the same host";
  host.end();
  host_at_1.end();
  run();
  EXPECT_EQ(q1.set_mac(other_at_1, kMac), CfgStatus::kNotPermitted) << "it may come back";
  run(LanAddresses::kUsedFor, 50ms);
  EXPECT_EQ(q1.set_mac(other_at_1, kMac), CfgStatus::kOk);
}

TEST_F(SiblingsTest, H_1_all_queues_know_whose_an_address_was) {
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  ASSERT_TRUE(q1.attach(other_at_1, kOtherMac));
  host.end();
  run();
  EXPECT_EQ(q1.set_mac(other_at_1, kMac), CfgStatus::kNotPermitted);
  EXPECT_TRUE(q1.attach(host_at_1, kMac)) << "it is the same host";
}

// It has claimed the address at one queue only, and lets others wait until they have it.
TEST_F(SiblingsTest, H_1_a_host_that_starts_late_does_not_get_what_another_queue_has_given_away) {
  ASSERT_TRUE(q1.attach(other_at_1, kOtherMac));
  ASSERT_EQ(q1.ask(other_at_1, CfgCode::kStop).status, CfgStatus::kOk);
  run();
  run(kClaimedFor + 1s, 50ms);
  ASSERT_TRUE(q0.attach(host, kOtherMac));
  run();
  EXPECT_FALSE(other_at_1.up()) << "it has to find out";
  EXPECT_TRUE(host.up());
  q1.lan().queue(frame_of(kOtherMac, kPeer));
  run();
  EXPECT_EQ(host.got.size(), 1U);
  EXPECT_TRUE(other_at_1.got.empty());
}

// The LAN returns it to the other queue.
TEST_F(SiblingsTest, H_1_a_group_frame_that_the_lan_returns_to_another_queue_takes_nothing) {
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  ASSERT_TRUE(q0.attach(other, kOtherMac));
  run();
  ASSERT_TRUE(host.push(frame_of(kBroadcast, kMac, 1)));
  run();
  q1.lan().queue(frame_of(kBroadcast, kMac, 1));
  run();
  ASSERT_TRUE(other.push(frame_of(kMac, kOtherMac, 2)));
  run();
  EXPECT_EQ(q0.written[0].size(), 1U) << "the frame for the host does not go to the LAN";
  q1.lan().queue(frame_of(kBroadcast, kMac, 3));
  run();
  ASSERT_TRUE(other.push(frame_of(kMac, kOtherMac, 4)));
  run();
  EXPECT_EQ(q0.written[0].size(), 2U) << "another machine has sent that one";
}

TEST_F(SiblingsTest, H_1_an_address_that_one_queue_has_seen_on_the_lan_is_refused_at_all) {
  ASSERT_TRUE(q0.attach(host, kMac));
  ASSERT_TRUE(q1.attach(other_at_1, kOtherMac));
  q1.lan().queue(frame_of(kBroadcast, kPeer));
  run();
  EXPECT_EQ(q0.set_mac(host, kPeer), CfgStatus::kNotPermitted);
  EXPECT_EQ(q1.set_mac(other_at_1, kPeer), CfgStatus::kNotPermitted);
}

TEST_F(SiblingsTest, H_1_a_machine_that_invents_addresses_does_not_fill_the_mail) {
  for (unsigned i = 0; i < 5000; ++i) {
    set.of(0)->notify_address(0, mac_number(static_cast<std::uint8_t>(i)));
  }
  ASSERT_TRUE(q1.attach(other_at_1, kOtherMac));
  run();
  EXPECT_EQ(q1.set_mac(other_at_1, mac_number(63)), CfgStatus::kNotPermitted);
  EXPECT_EQ(q1.set_mac(other_at_1, mac_number(64)), CfgStatus::kOk) << "there is no room for it";
}

TEST_F(SiblingsTest, a_queue_that_comes_later_waits_for_the_frames_before) {
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  ASSERT_TRUE(q1.attach(host_at_1, kMac));
  ASSERT_EQ(q1.ask(host_at_1, CfgCode::kStop).status, CfgStatus::kOk);
  ASSERT_TRUE(host_at_1.pair->request(CfgCode::kStart, {}, [](const CfgReply&) {}));
  for (int i = 0; i < 64; ++i) q1.iterate();  // no time passes
  ASSERT_TRUE(q1.unit->hosts()[0]->nic().started);
  q1.lan().queue(frame_of(kMac, kPeer));
  for (int i = 0; i < 64; ++i) q1.iterate();
  EXPECT_TRUE(host_at_1.got.empty());
  run();
  EXPECT_EQ(host_at_1.got.size(), 1U);
  EXPECT_TRUE(host.got.empty());
  EXPECT_EQ(count("iou.handed.frames"), 0U);
}

TEST_F(SiblingsTest, a_queue_that_ends_hands_its_frames_to_the_other) {
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  ASSERT_TRUE(q1.attach(host_at_1, kMac));
  run();
  host_at_1.end();
  run();
  q1.lan().queue(frame_of(kMac, kPeer));
  run();
  EXPECT_EQ(host.got.size(), 1U);
}

TEST_F(SiblingsTest, what_the_other_queue_cannot_take_is_counted) {
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  constexpr std::uint64_t kFrames = 8000;
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    q1.lan().queue(frame_of(kMac, kPeer, i, 0, 1514));
  }
  const auto dropped = [this] { return q1.count("lan.rx.drop.handed_full"); };
  const auto is_read = [&] { return q1.count("iou.handed.frames") + dropped() == kFrames; };
  ASSERT_TRUE(q1.run_until(is_read, 10s));  // queue 0 stands still
  run();
  const std::uint64_t full = dropped();
  EXPECT_GT(full, 0U);
  EXPECT_EQ(host.got.size() + q0.count("lan.rx.drop.host_full"), kFrames - full);
}

TEST_F(SiblingsTest, a_stop_waits_for_what_was_handed_over) {
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  q1.lan().queue(frame_of(kMac, kPeer));
  q1.run(5ms);  // queue 0 stands still
  q1.unit->begin_stop();
  q0.unit->begin_stop();
  EXPECT_TRUE(q1.unit->is_drained());
  EXPECT_FALSE(q0.unit->is_drained());
  run();
  EXPECT_EQ(host.got.size(), 1U);
  EXPECT_TRUE(q0.unit->is_drained());
}

TEST_F(SiblingsTest, a_frame_that_comes_too_late_for_its_host_is_counted) {
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  takes_mail = false;
  host.end();
  ASSERT_TRUE(q0.run_until([this] { return q0.unit->hosts().empty(); }));
  q1.lan().queue(frame_of(kMac, kPeer));
  run();
  EXPECT_EQ(q1.count("iou.handed.frames"), 1U);
  EXPECT_EQ(q0.count("lan.rx.drop.handed_gone"), 1U);
}

TEST_F(SiblingsTest, news_that_cannot_be_posted_follow_later) {
  takes_mail = false;
  ASSERT_TRUE(q0.attach(host, kMac));
  EXPECT_LE(q0.unit->deadline(), q0.clock.now() + 1ms);
  q1.lan().queue(frame_of(kMac, kPeer, 1));
  run();
  EXPECT_EQ(q1.count("lan.rx.drop.no_host"), 1U);
  takes_mail = true;
  run();
  EXPECT_GT(q0.unit->deadline(), q0.clock.now() + 1ms);
  q1.lan().queue(frame_of(kMac, kPeer, 2));
  run();
  ASSERT_EQ(host.got.size(), 1U);
  EXPECT_EQ(host.got[0], frame_of(kMac, kPeer, 2));
}

TEST_F(SiblingsTest, S_59_all_queues_count_refused_accesses_together) {
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  ASSERT_TRUE(q1.attach(host_at_1, kMac));
  const HostId principal = q0.unit->hosts().at(0)->identity().node().principal();
  for (int refused = 0; refused < 7; ++refused) set.of(1)->notify_refused(principal);
  run();
  EXPECT_TRUE(host.up());
  set.of(1)->notify_refused(principal);
  run();
  EXPECT_FALSE(host.up());
  host.connect();
  ASSERT_TRUE(q0.run_until([&] { return !host.refusal.empty(); }, 1s));
  EXPECT_NE(host.refusal.find("blocked"), std::string::npos);
}

// Its new connection is accepted before the old one is removed.
TEST_F(SiblingsTest, a_host_that_connects_again_stays_known_to_the_other_queue) {
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  q1.lan().queue(frame_of(kMac, kPeer));
  run();
  EXPECT_EQ(host.got.size(), 1U);
}

TEST_F(SiblingsTest, additional_queues_are_counted_apart) {
  ASSERT_TRUE(q0.attach(host, kMac));
  run();
  ASSERT_TRUE(q1.attach(host_at_1, kMac));
  run();
  EXPECT_EQ(count("iou.hosts.ups"), 1U);
  EXPECT_EQ(count("iou.queues.ups"), 1U);
}

}  // namespace
}  // namespace splitnic::iou::harness::siblings_test
