// Hops of the full profile: a lane waits for credits alone, nothing is lost for want of room, and
// the flits of a cell follow each other on their lane.
#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <utility>

#include "fabric_emul/switching/switch.h"
#include "fabric_emul/wire/flit.h"
#include "tests/unit/fabric_emul/switching/attached_node.h"

namespace splitnic::fabric {
namespace switch_credits_test {

using namespace switch_world;

Cell cell_on(unsigned sl, Lid from, Lid to, unsigned seed, std::size_t bytes = 900) {
  return cell_with(from, to, bytes, seed,
                   [sl](CellHead& head) { head.header.sl = static_cast<std::uint8_t>(sl); });
}

// Loses what its queues have no room for, as UDP does.
struct FullWorld : World {
  explicit FullWorld(std::size_t nodes)
      : World(nodes, {.batch_queue_max = 8, .drops_when_full = true}, LinkProfile::kFull) {}

  // Writes cells of this level until the node's lane takes no more. Returns how many it took.
  unsigned fill(std::size_t from, std::size_t to, unsigned sl, unsigned at_most = 100000) {
    unsigned& next = sent[{from, to, sl}];
    const unsigned before = next;
    while (next - before < at_most && write(from, cell_on(sl, lid(from), lid(to), next),
                                            static_cast<std::uint8_t>(sl % kDataLanes))) {
      ++next;
    }
    return next - before;
  }
  // Reads what is there. Cells of `held_lane` keep their credits.
  void read(std::size_t number, int held_lane = -1) {
    link_world::End& end = node(number);
    end.port.on_time(clock.now());
    end.port.receive(clock.now(), 16, [&](Link& link, std::span<const ReceivedCell> batch) {
      for (const ReceivedCell& one : batch) {
        take(number, one);
        if (one.vl == held_lane) held.push_back(link.hold(one));
      }
    });
    end.port.flush(clock.now());
  }
  void settle_with(std::size_t reader, int held_lane) {
    for (bool made_progress = true; made_progress;) {
      made_progress = iterate({reader});
      const std::size_t before = taken;
      read(reader, held_lane);
      made_progress |= taken != before;
    }
  }
  // The cells of each sender and level come in order, each once.
  void take(std::size_t number, const ReceivedCell& one) {
    const MacHeader header = MacHeader::parse(one.bytes.data());
    const std::size_t from = header.slid.value - 10U;
    unsigned& next = got[{from, number, header.sl}];
    const Cell right = cell_on(header.sl, header.slid, lid(number), next);
    EXPECT_TRUE(std::ranges::equal(one.bytes, right));
    ++next;
    ++taken;
  }
  void take_all(std::size_t number) {
    for (const auto& bytes : node(number).cells) take(number, {bytes, 0, false, 0});
    node(number).cells.clear();
  }

  using Flow = std::tuple<std::size_t, std::size_t, unsigned>;  // from, to, level
  std::map<Flow, unsigned> sent, got;
  std::size_t taken = 0;
  std::vector<CellCredit> held;
};

// Node 3 keeps all that comes on a lane, and node 1 sends what it can to it there.
void hold_lane(FullWorld& world, int lane) {
  const auto sl = static_cast<unsigned>(lane);
  for (unsigned i = 0; i < 100 && world.fill(1, 3, sl) != 0; ++i) world.settle_with(3, lane);
  ASSERT_EQ(world.fill(1, 3, sl), 0U);
}

// Lane 0.
class HeldLaneTest : public ::testing::Test {
 protected:
  HeldLaneTest() : world(3) { hold_lane(world, 0); }
  FullWorld world;
};

TEST_F(HeldLaneTest, S000_40_a_lane_without_credits_holds_up_no_other_lane) {
  EXPECT_GT(world.sw.waiting_cells(), 0U);
  EXPECT_EQ(world.fill(1, 3, 0), 0U);
  for (unsigned i = 0; i < 200; ++i) {
    for (const unsigned sl : {1U, 2U, 3U}) {
      EXPECT_EQ(world.fill(1, 3, sl, 1), 1U);
    }
    EXPECT_EQ(world.fill(2, 1, 0, 1), 1U);  // lane 0 of another input and output
    world.settle_with(3, 0);
  }
  for (const unsigned sl : {1U, 2U, 3U}) {
    EXPECT_EQ((world.got[{1, 3, sl}]), 200U);
  }
  EXPECT_EQ(world.node(1).cells.size(), 200U);
  EXPECT_EQ(world.drops(), 0U);
  EXPECT_TRUE(world.is_balanced());
}

TEST_F(HeldLaneTest, S000_40_S000_45_what_waited_for_credits_arrives_in_order) {
  EXPECT_LT((world.got[{1, 3, 0}]), (world.sent[{1, 3, 0}]));
  for (const CellCredit& credit : std::exchange(world.held, {})) {
    world.node(3).link().release(credit);
  }
  world.read(3);
  world.settle_with(3, -1);
  EXPECT_EQ((world.got[{1, 3, 0}]), (world.sent[{1, 3, 0}]));
  EXPECT_EQ(world.drops(), 0U);
  EXPECT_EQ(world.sw.waiting_cells(), 0U);
}

// Behind it wait cells for others, of the same lane and input.
TEST_F(HeldLaneTest, S000_45_a_lane_that_is_held_for_too_long_is_given_up) {
  EXPECT_EQ(world.fill(1, 2, 0), 0U);
  for (unsigned i = 0; i < 40; ++i) {
    world.clock.advance(5ms);
    world.fill(1, 3, 1, 20);  // 360 KB in 100 ms: a lane has its own budget
    world.settle_with(3, 0);
  }
  EXPECT_EQ((world.got[{1, 3, 1}]), 800U);
  EXPECT_GT(world.count(SwitchCounter::kDropStalled), 0U);
  EXPECT_GT(world.fill(1, 2, 0), 0U);
  world.settle_with(3, 0);
  world.take_all(2);
  EXPECT_EQ((world.got[{1, 2, 0}]), (world.sent[{1, 2, 0}]));
  EXPECT_TRUE(world.is_balanced());
}
// The switch holds cells of a process that is gone: they use no credits of the next one.
// One that leaves before those.
TEST(SwitchCreditsTest, S000_40_lanes_behind_one_without_credits_are_sent) {
  FullWorld world(3);
  hold_lane(world, 3);
  const std::size_t waiting = world.sw.waiting_cells();
  for (unsigned i = 0; i < 20; ++i) {
    for (const std::size_t from : {1U, 2U}) world.fill(from, 3, 0);
    world.iterate({3});
  }
  EXPECT_GT(world.sw.waiting_cells(), waiting);
  for (unsigned i = 0; i < 20; ++i) {
    world.settle_with(3, 3);
    world.clock.advance(2ms);
  }
  EXPECT_EQ(world.sw.waiting_cells(), waiting);
  for (const std::size_t from : {1U, 2U}) {
    EXPECT_EQ((world.got[{from, 3, 0}]), (world.sent[{from, 3, 0}]));
  }
  EXPECT_EQ(world.drops(), 0U);
}

// The switch holds cells of a process that has ended. They use no credits of the next one.
TEST_F(HeldLaneTest, S000_40_credits_of_a_former_process_are_void) {
  const PeerAddress at_switch = world.node(1).link().address();
  world.ends[0] = std::make_unique<link_world::End>(
      *world.carriers[0],
      link_world::with_profile(link_world::config_of(0x201, 2001), LinkProfile::kFull));
  world.node(1).port.connect(at_switch, world.clock.now());
  for (unsigned i = 0; i < 5; ++i) {
    world.clock.advance(10ms);
    world.settle_with(3, 0);
  }
  ASSERT_TRUE(world.node(1).watch.link != nullptr);
  const unsigned first = world.sent[{1, 3, 0}];
  EXPECT_GT(world.fill(1, 3, 0), 0U);
  for (unsigned i = 0; i < 40; ++i) {
    world.clock.advance(10ms);
    world.settle_with(3, 0);
  }
  EXPECT_GT((world.sent[{1, 3, 0}]), first);
  EXPECT_TRUE(world.node(1).link().up());
  EXPECT_TRUE(world.is_balanced());
}

// Nodes 1 to 3 send all they can to node 4, which reads one batch per millisecond.
void send_to_a_slow_node(FullWorld& world) {
  for (unsigned round = 0; round < 300; ++round) {
    for (std::size_t from = 1; from <= 3; ++from) world.fill(from, 4, 0);
    world.iterate({4});
    world.only_send(4);
    world.read_one(4);
    world.only_send(4);
    world.take_all(4);
    world.clock.advance(1ms);
  }
  for (unsigned i = 0; i < 100; ++i) {
    world.settle();
    world.clock.advance(10ms);
  }
  world.take_all(4);
}

TEST(SwitchCreditsTest, S000_45_three_senders_to_one_receiver_lose_nothing) {
  FullWorld world(4);
  send_to_a_slow_node(world);
  for (std::size_t from = 1; from <= 3; ++from) {
    EXPECT_GT((world.sent[{from, 4, 0}]), 300U);
    EXPECT_EQ((world.got[{from, 4, 0}]), (world.sent[{from, 4, 0}]));
  }
  EXPECT_EQ(world.drops(), 0U);
  EXPECT_GT(world.count(SwitchCounter::kWait), 0U);
  EXPECT_TRUE(world.is_balanced());
}

// The flits that leave for node 3 while nodes 1 and 2 send to it on one lane, and on two.
TEST(SwitchCreditsTest, S000_42_the_flits_of_a_cell_are_not_interleaved_on_a_lane) {
  FullWorld world(3);
  for (unsigned i = 0; i < 8; ++i) {
    for (const unsigned sl : {0U, 1U}) {
      world.fill(1, 3, sl, 1);
      world.fill(2, 3, sl, 1);
    }
    world.sw.step(world.clock.now());
  }
  world.sw.step(world.clock.now());
  std::map<std::uint8_t, Cell> parts;
  unsigned cells = 0, alternations = 0;
  std::uint8_t last_lane = 0;
  while (const auto batch = world.carriers[2]->receive()) {
    for (base::Bytes rest = batch->bytes; !rest.empty();) {
      FlitWalker walker(rest.first(std::min(batch->stride, rest.size())));
      rest = rest.subspan(std::min(batch->stride, rest.size()));
      for (FlitView flit; walker.next(flit) == FlitWalker::Step::kFlit;) {
        if (flit.header.type != FlitType::kData) continue;
        Cell& part = parts[flit.header.vl];
        EXPECT_EQ(part.empty(), (flit.header.ctl & kFlitSof) != 0);
        part.insert(part.end(), flit.payload.begin(), flit.payload.end());
        alternations += flit.header.vl != last_lane ? 1 : 0;
        last_lane = flit.header.vl;
        if ((flit.header.ctl & kFlitEof) == 0) continue;
        world.take(3, {part, flit.header.vl, false, 0});
        part.clear();
        ++cells;
      }
    }
  }
  EXPECT_EQ(cells, 32U);
  EXPECT_GT(alternations, 2U);  // the lanes of the link are
}

// Host a sends to b, which has stopped reading, on lane 0; and to c.
class EndNodeTest : public ::testing::Test {
 protected:
  EndNodeTest() : sw(plan_of(star(3), "sw").value(), random) {
    for (std::uint8_t i = 1; i <= 3; ++i) {
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
                                  0x200 + number, 500 + number, listens, clock, 4, 0,
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
    return cell_on(0, link.local_lid(), link.remote_lid(), seed);
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

}  // namespace switch_credits_test
}  // namespace splitnic::fabric
