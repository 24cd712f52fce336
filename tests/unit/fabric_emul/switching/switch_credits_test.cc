// A switch with hops of the full profile: a lane waits for credits alone, nothing is lost for want
// of room, and the flits of a cell follow each other on their lane.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "fabric_emul/switching/switch.h"
#include "fabric_emul/underlay/underlay_decorator.h"
#include "fabric_emul/wire/flit.h"
#include "tests/unit/fabric_emul/switching/switch_world.h"

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
// Each process at a port begins with all credits; what the former ones left counts for the port.
TEST_F(HeldLaneTest, S000_45_processes_that_come_and_go_hold_no_more_than_one_may) {
  const PeerAddress at_switch = world.node(2).link().address();
  for (std::uint64_t i = 0; i < 12; ++i) {
    world.ends[1] = std::make_unique<link_world::End>(
        *world.carriers[1],
        link_world::with_profile(link_world::config_of(0x202, 3000 + i), LinkProfile::kFull));
    world.node(2).port.connect(at_switch, world.clock.now());
    world.settle_with(3, 0);
    ASSERT_TRUE(world.node(2).watch.link != nullptr && world.node(2).link().up());
    while (link_world::write(world.node(2).link(), cell_on(0, World::lid(2), World::lid(3), 0))) {
    }
    world.settle_with(3, 0);
  }
  EXPECT_GT(world.count(SwitchCounter::kDropStalled), 0U);
  EXPECT_LT(world.sw.waiting_cells(), 550U);  // 384 KiB of node 2, and those of node 1
  EXPECT_TRUE(world.is_balanced());
}

// Puts a datagram behind the next batch that its owner sends, in the same batch.
class Joined final : public UnderlayDecorator {
 public:
  using UnderlayDecorator::UnderlayDecorator;
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    std::vector<std::byte> all(bytes.begin(), bytes.end());
    if (!tail.empty()) {
      all.resize((all.size() + stride - 1) / stride * stride);
      all.insert(all.end(), tail.begin(), tail.end());
      tail.clear();
    }
    return below_.send(to, all, stride);
  }
  std::optional<Received> receive() override { return below_.receive(); }
  base::Time deadline() const override { return below_.deadline(); }
  std::vector<std::byte> tail;
};

TEST_F(HeldLaneTest, S000_45_cells_before_an_init_in_one_batch_are_of_the_former_life) {
  const PeerAddress at_switch = world.node(2).link().address();
  Joined joined(*world.carriers[1]);
  world.ends[1] = std::make_unique<link_world::End>(
      joined, link_world::with_profile(link_world::config_of(0x202, 2002), LinkProfile::kFull));
  world.node(2).port.connect(at_switch, world.clock.now());
  world.settle_with(3, 0);
  Init hello = link_world::hello_of(0x202, 2002);
  hello.profile = LinkProfile::kFull;
  hello.initial_credit = 4096;
  link_world::append_init(joined.tail, hello);
  const std::uint64_t before = world.count(SwitchCounter::kRxCell);
  EXPECT_GT(world.fill(2, 3, 0, 20), 0U);
  world.sw.step(world.clock.now());
  EXPECT_TRUE(joined.tail.empty());
  EXPECT_LT(world.count(SwitchCounter::kRxCell) - before, 20U);
  EXPECT_TRUE(world.is_balanced());
  world.ends[1].reset();
  world.ends.resize(1);
}

// The lane of management has no credits: nothing else may use it.
TEST(SwitchCreditsTest, S000_40_data_on_the_lane_of_management_is_dropped) {
  FullWorld world(2);
  EXPECT_TRUE(world.write(1, cell_on(0, World::lid(1), World::lid(2), 0), kMgmtLane));
  world.settle();
  EXPECT_EQ(world.count(SwitchCounter::kDropLane), 1U);
  EXPECT_TRUE(world.node(2).cells.empty());
  EXPECT_TRUE(world.is_balanced());
}

// It leaves on the lane without credits, so its rate is bounded, whatever lane it comes by.
TEST(SwitchCreditsTest, S000_40_management_cells_are_bounded_on_any_lane) {
  for (const std::uint8_t lane : {std::uint8_t{0}, kMgmtLane}) {
    FullWorld world(2);
    const auto mgmt = [](CellHead& head) {
      head.header.service = Service::kMgmt;
      head.header.op = Op::kMgmt;
      head.header.flags = 0;
    };
    for (unsigned i = 0; i < 3000; ++i) {
      EXPECT_TRUE(world.write(1, cell_with(World::lid(1), World::lid(2), 64, i, mgmt), lane));
      if (i % 8 == 0) world.settle();
    }
    world.settle();
    EXPECT_GE(world.node(2).cells.size(), 1000U);
    EXPECT_LE(world.node(2).cells.size(), 1100U) << "1024 at once";
    EXPECT_EQ(world.count(SwitchCounter::kDropMgmtRate), 3000U - world.node(2).cells.size());
    EXPECT_TRUE(world.is_balanced());
  }
}

// Nodes 1 to 3 send all they can to node 4 on these service levels. It reads one batch per
// millisecond.
void send_to_a_slow_node(FullWorld& world, const std::array<unsigned, 3>& levels) {
  for (unsigned round = 0; round < 400; ++round) {
    for (std::size_t from = 1; from <= 3; ++from) world.fill(from, 4, levels.at(from - 1));
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

// Nodes 1 and 2 use the link to node 4 with a lane that leaves before that of node 3.
TEST(SwitchCreditsTest, S000_45_a_lane_that_waits_for_other_lanes_loses_nothing) {
  FullWorld world(4);
  send_to_a_slow_node(world, {3, 3, 0});
  EXPECT_GT(world.count(SwitchCounter::kWait), 0U);
  EXPECT_EQ(world.drops(), 0U);
  EXPECT_EQ((world.got[{3, 4, 0}]), (world.sent[{3, 4, 0}]));
}

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

TEST(SwitchCreditsTest, S000_45_three_senders_to_one_receiver_lose_nothing) {
  FullWorld world(4);
  send_to_a_slow_node(world, {0, 0, 0});
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

}  // namespace switch_credits_test
}  // namespace splitnic::fabric
