// A host that guesses handles: each guess ends its connection, and the eighth within a minute
// blocks the host.
#include "messaging/connect.pb.h"
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::quarantine_test {
namespace {

// Posts one RDMA write of the host to a handle that was never granted to it.
void guess(UnitHarness& harness, TestHost& host) {
  fabric::SendWr wr;
  wr.op = fabric::WrOp::kRdmaWrite;
  wr.remote_address = fabric::VirtualAddress(0x1000);
  wr.remote_handle = fabric::MemoryHandle(host.random.next32());
  ASSERT_TRUE(host.adapter->post_send(host.pair->qpn(1), wr));
  ASSERT_TRUE(harness.run_until([&] { return !host.up(); }));
}

TEST(QuarantineTest, S_59_the_first_guess_ends_the_queue_pair_and_the_connection) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  guess(harness, host);
  EXPECT_EQ(host.refusal, "channel 1: remote_access");
  EXPECT_EQ(harness.count("fabric.drop.access"), 1U);
  harness.run(5ms);
  EXPECT_EQ(harness.unit->hosts_up(), 0U);
  EXPECT_TRUE(harness.connect(host)) << "one mistake is no attack";
}

TEST(QuarantineTest, S_59_eight_guesses_within_a_minute_keep_the_node_out_for_five) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  TestHost& other = harness.add_host();
  ASSERT_TRUE(harness.attach(other, mac_number(2)));
  for (std::size_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(harness.connect(host)) << i;
    guess(harness, host);
    harness.run(1s);
  }
  EXPECT_EQ(harness.count("iou.hosts.quarantined"), 1U);
  EXPECT_FALSE(harness.connect(host));
  EXPECT_NE(host.refusal.find("blocked after repeated remote access errors"), std::string::npos)
      << host.refusal;
  host.start();  // another process of the same node
  EXPECT_FALSE(harness.connect(host));
  EXPECT_GT(harness.count("iou.hosts.refused_quarantine"), 0U);
  // The other host is not affected.
  EXPECT_TRUE(other.up());
  harness.lan().queue(frame_of(mac_number(2), kPeer));
  ASSERT_TRUE(harness.run_until([&] { return other.got.size() == 1; }));

  harness.run(Quarantine::kFor);
  EXPECT_TRUE(harness.connect(host));
}

// The guess and the next CONNECT_REQ arrive together: the unit ends the host before its connection
// has noticed that its queue pair has failed.
TEST(QuarantineTest, S_59_a_guesser_that_reconnects_immediately_is_counted) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  messaging::connect::Capabilities c;
  c.set_mode(messaging::connect::MODE_SEND);
  c.set_version_lowest(1);
  c.set_version_highest(1);
  c.add_msg_max(4096);
  c.add_msg_max(65536);
  const std::string capabilities = c.SerializeAsString();
  std::array<fabric::MgmtPair, 2> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].channel = static_cast<std::uint8_t>(i);
    pairs[i].service = fabric::Service::kUc;
    pairs[i].qpn = fabric::Qpn(static_cast<std::uint32_t>(100 + i));
  }
  for (std::size_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(harness.connect(host)) << i;
    harness.run(Iou::kAttachIntervalOfLink);
    fabric::SendWr wr;
    wr.op = fabric::WrOp::kRdmaWrite;
    wr.remote_handle = fabric::MemoryHandle(host.random.next32());
    ASSERT_TRUE(host.adapter->post_send(host.pair->qpn(1), wr));
    host.adapter->transmit(harness.clock.now());
    host.adapter->connections().connect(*host.link, pairs, base::as_bytes(capabilities),
                                        harness.clock.now());
    host.step();
    harness.run(Iou::kAttachIntervalOfLink);
  }
  EXPECT_EQ(harness.count("iou.hosts.quarantined"), 1U);
}

TEST(QuarantineTest, S_59_refusals_that_are_far_apart_are_forgiven) {
  base::ManualClock clock;
  Quarantine quarantine;
  const HostId node{fabric::Eui64(7)};
  for (int i = 0; i < 40; ++i) {
    EXPECT_FALSE(quarantine.note(node, clock.now()));
    clock.advance(9s);
  }
  EXPECT_EQ(quarantine.left(node, clock.now()), base::Duration{0});
}

TEST(QuarantineTest, S_59_it_is_bounded_and_forgets_who_was_quiet_longest) {
  base::ManualClock clock;
  Quarantine quarantine;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(quarantine.note(HostId{fabric::Eui64(1)}, clock.now()), i == 7);
  }
  clock.advance(1s);
  EXPECT_EQ(quarantine.left(HostId{fabric::Eui64(1)}, clock.now()), Quarantine::kFor - 1s);
  for (std::uint64_t n = 2; n <= Quarantine::kNodesMax; ++n) {
    EXPECT_FALSE(quarantine.note(HostId{fabric::Eui64(n)}, clock.now()));
  }
  EXPECT_GT(quarantine.left(HostId{fabric::Eui64(1)}, clock.now()), base::Duration{0});
  EXPECT_FALSE(quarantine.note(HostId{fabric::Eui64(1000)}, clock.now()));
  EXPECT_EQ(quarantine.left(HostId{fabric::Eui64(1)}, clock.now()), base::Duration{0});
}

// Guesses until the host is blocked.
void guess_often(UnitHarness& harness, TestHost& host) {
  for (std::size_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(harness.connect(host)) << i;
    guess(harness, host);
    harness.run(1s);
  }
  ASSERT_EQ(harness.count("iou.hosts.quarantined"), 1U);
}

TEST(QuarantineTest, M_8_who_states_the_eui64_of_another_user_has_nobody_blocked_but_itself) {
  UnitHarness harness;
  TestHost& victim = harness.add_host();
  TestHost& other = harness.add_host();
  ASSERT_TRUE(harness.attach(victim, mac_number(1)));
  other.eui64 = victim.eui64;
  other.start();
  guess_often(harness, other);
  EXPECT_TRUE(victim.up());
  EXPECT_TRUE(harness.connect(victim)) << victim.refusal;
  EXPECT_FALSE(harness.connect(other));
}

TEST(QuarantineTest, M_8_a_user_does_not_leave_the_quarantine_by_another_eui64) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  guess_often(harness, host);
  host.eui64 = 0x7777;
  host.start();
  EXPECT_FALSE(harness.connect(host));
  EXPECT_NE(host.refusal.find("blocked"), std::string::npos) << host.refusal;
}

}  // namespace
}  // namespace splitnic::iou::harness::quarantine_test
