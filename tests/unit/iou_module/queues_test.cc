// Hosts that request several queues.
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::queues_test {
namespace {

TEST(QueuesTest, S001_08_a_host_with_one_of_its_two_queues_is_not_up) {
  UnitHarness harness({.queues = 8});
  TestHost& host = harness.add_host({.queues = 2});
  ASSERT_TRUE(harness.run_until([&] { return host.link_up(); }, 1s));
  host.connect();
  ASSERT_TRUE(harness.run_until([&] { return host.up(); }, 1s));
  harness.run(10ms);
  EXPECT_EQ(host.pair->peer_queues(), 2U);
  EXPECT_EQ(harness.unit->hosts().size(), 1U);
  EXPECT_EQ(harness.unit->hosts_up(), 0U);
}

TEST(QueuesTest, X_46_a_unit_gives_no_more_than_it_has) {
  UnitHarness harness;
  TestHost& host = harness.add_host({.queues = 2});
  ASSERT_TRUE(harness.run_until([&] { return host.link_up(); }, 1s));
  host.connect();
  ASSERT_TRUE(harness.run_until([&] { return harness.unit->hosts_up() == 1; }, 1s));
  EXPECT_EQ(host.pair->peer_queues(), 1U);
}

TEST(QueuesTest, P_43_an_additional_queue_needs_the_first) {
  UnitHarness harness({.queues = 8});
  TestHost& host = harness.add_host({.queues = 2, .queue = 1});
  TestHost& other = harness.add_host({.queues = 2});
  ASSERT_TRUE(harness.run_until([&] { return host.link_up() && other.link_up(); }, 1s));
  other.connect();
  ASSERT_TRUE(harness.run_until([&] { return other.up(); }, 1s));
  host.connect();  // another host's first is not its own
  ASSERT_TRUE(harness.run_until([&] { return !host.refusal.empty(); }, 1s));
  EXPECT_NE(host.refusal.find("its first queue or channel is not connected"), std::string::npos);
  EXPECT_EQ(harness.unit->hosts().size(), 1U);
  EXPECT_TRUE(other.up());
}

// A queue has three completion queues, so the default would serve 42 hosts of eight.
TEST(QueuesTest, S001_08_there_is_room_for_all_queues_of_all_hosts) {
  for (const std::size_t hosts : {1U, 64U, 4096U}) {
    const fabric::AdapterLimits limits = adapter_limits(hosts);
    EXPECT_GE(limits.cqs, 3 * 8 * hosts);
    EXPECT_GE(limits.qps, 2 * 8 * hosts);
    EXPECT_GE(limits.memory_entries, 40 * 8 * hosts);
    EXPECT_EQ(limits.profile, fabric::MrwtProfile::kStrictWindows);
  }
}

}  // namespace
}  // namespace splitnic::iou::harness::queues_test
