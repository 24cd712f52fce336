// End nodes behind hops of the full profile: what one lane has no room for delays no other lane.
#include <gtest/gtest.h>

#include "fabric_emul/switching/switch.h"
#include "tests/unit/fabric_emul/switching/attached_node.h"

namespace splitnic::fabric {
namespace end_node_lanes_test {

using namespace switch_world;

// Host a sends to b, which has stopped reading, on lane 0; and to c, and to more that do not read.
class EndNodeTest : public ::testing::Test {
 protected:
  static constexpr std::uint8_t kNodes = 16;
  EndNodeTest() : sw(plan_of(star(kNodes), "sw").value(), random) {
    for (std::uint8_t i = 1; i <= kNodes; ++i) {
      at_switch.push_back(&hub.add_endpoint());
      sw.add_port(i, *at_switch.back(), with_full(0x100U + i), nullptr, clock.now());
    }
    b = node(2, true);
    c = node(3, true);
    a = node(1, false);
    a->end->port.connect(a->attachment.peer("n2"), clock.now());
    run(300ms);
    to_b = a->end->watch.link;
    a->end->port.connect(a->attachment.peer("n3"), clock.now());
    run(300ms);
    to_c = a->end->watch.link;
  }
  static PortConfig with_full(std::uint64_t eui64) {
    return link_world::with_profile(link_world::config_of(eui64, 7), LinkProfile::kFull);
  }
  std::unique_ptr<Node> node(std::uint64_t number, bool listens) {
    return std::make_unique<Node>(hub.add_endpoint(), at_switch[number - 1]->address(),
                                  0x200 + number, 500 + number, listens, clock, kNodes, 0,
                                  PartitionTable{}, LinkProfile::kFull);
  }
  bool iterate(bool with_b) {
    bool made_progress = sw.step(clock.now());
    for (Node* one : {a.get(), c.get()}) made_progress |= one->end->step(clock.now());
    return (with_b && b->end->step(clock.now())) || made_progress;
  }
  void run(base::Duration time, bool with_b = true) {
    link_world::run_for(clock, time, [&] { return iterate(with_b); });
  }
  void settle(bool with_b) {
    while (iterate(with_b)) {
    }
  }
  // Until the lane is blocked. Returns the number of cells.
  unsigned fill_lane_0() {
    unsigned written = 0;
    for (unsigned idle = 0; idle < 3; ++idle) {
      while (link_world::write(*to_b, cell_to(*to_b, written))) {
        ++written;
        idle = 0;
        if (written % 16 == 0) settle(false);
      }
      settle(false);
    }
    return written;
  }
  static Cell cell_to(const Link& link, unsigned seed) {
    return switch_world::cell(link.local_lid(), link.remote_lid(), 900, seed);
  }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub{{.batch_queue_max = 8, .drops_when_full = true}};
  Switch sw;
  std::vector<InProcessUnderlay*> at_switch;
  std::unique_ptr<Node> a, b, c;
  Link *to_b = nullptr, *to_c = nullptr;
};

TEST_F(EndNodeTest, S000_40_an_end_node_continues_on_lanes_that_have_room) {
  ASSERT_TRUE(to_b != to_c && to_b->up() && to_c->up());
  EXPECT_EQ(to_c->mcp(), kMgmtPayloadMax);  // the longest cell of the hop
  EXPECT_EQ(to_c->lanes(), kDataLanes);
  const unsigned written = fill_lane_0();
  EXPECT_EQ(a->attachment.blocked_lanes(), 1U);
  EXPECT_TRUE(to_c->reserve(1000, 0).empty());  // it shares the lane
  c->end->cells.clear();
  for (unsigned i = 0; i < 500; ++i) {
    ASSERT_TRUE(link_world::write(*to_c, cell_to(*to_c, i), 1));
    settle(false);
  }
  ASSERT_EQ(c->end->cells.size(), 500U);
  for (unsigned i = 0; i < 500; ++i) EXPECT_EQ(c->end->cells[i], cell_to(*to_c, i));
  EXPECT_FALSE(a->end->port.take_room());
  b->end->cells.clear();
  settle(true);
  ASSERT_EQ(b->end->cells.size(), written);
  for (unsigned i = 0; i < written; ++i) EXPECT_EQ(b->end->cells[i], cell_to(*to_b, i));
  EXPECT_TRUE(a->end->port.take_room());
  EXPECT_FALSE(a->end->port.take_room());
  EXPECT_EQ(a->attachment.blocked_lanes(), 0U);
  EXPECT_EQ(sw.counters()[SwitchCounter::kDropStalled], 0U);
}

// More peers have gathered cells for the lane than its queue holds.
TEST_F(EndNodeTest, S000_40_what_the_queue_of_a_lane_does_not_hold_waits_without_a_spin) {
  std::vector<std::unique_ptr<Node>> others;
  std::vector<Link*> links;
  for (std::uint64_t i = 4; i <= kNodes; ++i) {
    others.push_back(node(i, true));
    a->end->port.connect(a->attachment.peer("n" + std::to_string(i)), clock.now());
    link_world::run_for(clock, 300ms, [&] {
      bool made_progress = iterate(true);
      for (const auto& one : others) made_progress |= one->end->step(clock.now());
      return made_progress;
    });
    links.push_back(a->end->watch.link);
  }
  // Each gathers while the lane has room, and nothing leaves meanwhile.
  std::vector<unsigned> written(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    while (written[i] < 50 && link_world::write(*links[i], cell_to(*links[i], written[i]))) {
      ++written[i];
    }
  }
  for (unsigned i = 0; i < 5; ++i) a->end->step(clock.now());
  EXPECT_TRUE(a->attachment.is_blocked_by_lane());
  EXPECT_FALSE(a->end->port.wants_write());
  EXPECT_GT(a->end->port.deadline(), clock.now());
  for (const auto& one : others) one->end->cells.clear();
  for (unsigned i = 0; i < 50; ++i) {
    while (iterate(true)) {
    }
    for (const auto& one : others) one->end->step(clock.now());
    clock.advance(1ms);
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    EXPECT_EQ(others[i]->end->cells.size(), written[i]);
  }
  EXPECT_FALSE(a->attachment.is_blocked_by_lane());
}

}  // namespace end_node_lanes_test
}  // namespace splitnic::fabric
