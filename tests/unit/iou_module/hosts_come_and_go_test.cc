// Hosts that attach and end, cleanly or not: in the end the unit and the process hold what they
// held before.
#include "base/event_log.h"
#include "tests/support/process_state.h"
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::hosts_come_and_go_test {
namespace {

constexpr int kRounds = 200;  // of two attached hosts each
// Beyond what tables and allocators round up to: 120 bytes for each host.
constexpr std::ptrdiff_t kSlackBytes = 48 << 10;
// Numbers of queue pairs that have ended are not given to others for a minute.
constexpr base::Duration kAtRest = 70s;

struct Held {
  explicit Held(const UnitHarness& harness)
      : queue_pairs(harness.adapter->qp_count()),
        memories(harness.adapter->memory().live_count()),
        connections(harness.adapter->connections().size()),
        process(support::process_state()) {}
  std::size_t queue_pairs, memories, connections;
  support::ProcessState process;
};

class HostsComeAndGoTest : public testing::Test {
 protected:
  // A process of the host attaches, a frame crosses each way, and its connection ends.
  void attach_and_end(bool is_clean) {
    ASSERT_TRUE(harness.attach(host, mac_number(1))) << host.refusal;
    ASSERT_EQ(harness.unit->hosts().size(), 1U);
    const std::uint64_t used = harness.unit->hosts()[0]->allowance().memory_account().used();
    if (memory_of_host == 0) memory_of_host = used;
    ASSERT_EQ(used, memory_of_host);
    ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1))));
    harness.lan().queue(frame_of(mac_number(1), kPeer));
    ASSERT_TRUE(
        harness.run_until([&] { return host.got.size() == 1 && harness.written[0].size() == 1; }));
    host.got.clear();
    harness.written[0].clear();
    if (is_clean) {
      host.end();
    } else {
      host.start();  // as another process; the one before ends silently
    }
    harness.run(Iou::kAttachIntervalOfLink);
    ASSERT_TRUE(harness.unit->hosts().empty());
  }
  void round() {
    attach_and_end(true);
    if (!HasFatalFailure()) attach_and_end(false);
  }

  UnitHarness harness{HarnessConfig{.pools = {{64, 2048}, {4, 65536}}}};
  TestHost& host = harness.add_host({.pools = {{64, 2048}, {4, 65536}}});
  std::uint64_t memory_of_host = 0;
};

TEST_F(HostsComeAndGoTest, R_65_hosts_leave_nothing_in_the_unit) {
  // The log of events is full after that, and the tables have their size.
  const std::uint64_t full = base::events().next() + 2 * base::kEventsKept;
  for (int i = 0; i < 1000 && base::events().next() < full && !HasFatalFailure(); ++i) round();
  ASSERT_GE(base::events().next(), full);
  harness.run(kAtRest);
  harness.clear_endpoints();
  const Held before(harness);
  EXPECT_EQ(before.queue_pairs, 0U);
  for (int i = 0; i < kRounds && !HasFatalFailure(); ++i) round();
  harness.run(kAtRest);
  harness.clear_endpoints();
  const Held after(harness);
  EXPECT_EQ(after.queue_pairs, before.queue_pairs);
  EXPECT_EQ(after.memories, before.memories);
  EXPECT_EQ(after.connections, before.connections);
  support::expect_same(after.process, before.process, kSlackBytes);
}

}  // namespace
}  // namespace splitnic::iou::harness::hosts_come_and_go_test
