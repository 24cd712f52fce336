// Lanes of a switch: the lane of a cell follows from its service level by the table of the hop,
// waiting cells of high levels leave before those of low ones, and nothing starves.
#include <gtest/gtest.h>

#include "fabric_emul/switching/path_cell.h"
#include "tests/unit/fabric_emul/switching/switch_world.h"

namespace splitnic::fabric {
namespace switch_lanes_test {

using namespace switch_world;

Cell cell_of(std::uint8_t sl, std::size_t from, std::size_t to, std::size_t bytes,
             unsigned seed = 0) {
  return cell_with(World::lid(from), World::lid(to), bytes, seed,
                   [&](CellHead& head) { head.header.sl = sl; });
}
Cell mgmt_of(std::size_t from, std::size_t to, std::size_t bytes) {
  return cell_with(World::lid(from), World::lid(to), bytes, 0, [](CellHead& head) {
    head.header.op = Op::kMgmt;
    head.header.service = Service::kMgmt;
    head.header.flags = 0;
  });
}

// The lanes on which a node gets these cells; that the bytes are the same is checked.
std::vector<unsigned> lanes_of(World& world, std::size_t to, const std::vector<Cell>& cells) {
  std::vector<unsigned> lanes;
  for (const Cell& sent : cells) {
    EXPECT_TRUE(world.write(1, sent));
    world.settle({to});
    world.node(to).port.receive(world.clock.now(), 16,
                                [&](Link&, std::span<const ReceivedCell> got) {
                                  for (const ReceivedCell& one : got) {
                                    lanes.push_back(one.vl);
                                    EXPECT_TRUE(std::ranges::equal(one.bytes, sent));
                                  }
                                });
  }
  return lanes;
}

std::vector<Cell> one_of_each_level() {
  std::vector<Cell> cells;
  for (std::uint8_t sl = 0; sl <= kSlMax; ++sl) cells.push_back(cell_of(sl, 1, 2, 64));
  cells.push_back(mgmt_of(1, 2, 64));
  return cells;
}

TEST(SwitchLanesTest, S004_21_the_lane_follows_from_the_service_level_which_stays) {
  World world(2);
  EXPECT_EQ(lanes_of(world, 2, one_of_each_level()),
            (std::vector<unsigned>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, kMgmtLane}));
}

TEST(SwitchLanesTest, S004_21_the_table_is_that_of_the_hop) {
  Topology topology = star(2);
  topology.switches[0].lanes = {3, 2, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
  World world(topology);
  EXPECT_EQ(lanes_of(world, 2, one_of_each_level()),
            (std::vector<unsigned>{3, 2, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, kMgmtLane}));
}

// The sender chooses the lane, and the switch has none to choose but where the sender names none.
TEST(SwitchLanesTest, X_15_a_subnet_that_pins_lanes_keeps_that_of_the_flit) {
  Topology topology = star(2);
  topology.pins_vl = true;
  World world(topology);
  std::vector<unsigned> lanes;
  const auto pass = [&](std::uint8_t vl, const Cell& cell) {
    const base::MutableBytes room = world.node(1).link().reserve(cell.size(), vl);
    ASSERT_EQ(room.size(), cell.size());
    std::ranges::copy(cell, room.begin());
    world.node(1).link().commit(cell.size());
    world.node(1).port.flush(world.clock.now());
    world.settle({2});
    world.node(2).port.receive(world.clock.now(), 16,
                               [&](Link&, std::span<const ReceivedCell> got) {
                                 for (const ReceivedCell& one : got) lanes.push_back(one.vl);
                               });
  };
  for (std::uint8_t vl = 0; vl < kDataLanes; ++vl) pass(vl, cell_of(1, 1, 2, 64));
  EXPECT_EQ(lanes, (std::vector<unsigned>{0, 1, 2, 3}));
  lanes.clear();
  pass(7, cell_of(1, 1, 2, 64));          // no lane of a switch: the table's
  pass(kMgmtLane, cell_of(2, 1, 2, 64));  // not for what is no MGMT
  pass(0, mgmt_of(1, 2, 64));
  EXPECT_EQ(lanes, (std::vector<unsigned>{1, 2, kMgmtLane}));
}

// Nodes 1 to 8 send all they can to node 10, which reads one batch per millisecond. Node 9 sends it
// a short cell now and then.
class BulkTest : public ::testing::Test {
 protected:
  using Waits = std::vector<base::Duration>;

  // Returns how long the cells of node 9, of this level, were on their way, in ascending order.
  Waits waits_of(std::uint8_t sl, std::uint8_t bulk_sl = 0) {
    std::vector<base::Time> sent;
    Waits waits;
    for (unsigned round = 0; round < 1000; ++round) {
      for (std::size_t from = 1; from <= 8; ++from) burst(from, bulk_sl);
      if (round % 5 == 0 &&
          world.write(9, cell_of(sl, 9, 10, 64, static_cast<unsigned>(sent.size())))) {
        sent.push_back(world.clock.now());
      }
      world.iterate({10});
      world.only_send(10);
      world.node(10).cells.clear();
      world.read_one(10);
      for (const Cell& got : world.node(10).cells) {
        const MacHeader header = MacHeader::parse(got.data());
        ++arrived[header.slid.value - 10U];
        if (header.slid == World::lid(9)) {
          waits.push_back(world.clock.now() - sent.at(header.psn.value));
        }
      }
      world.clock.advance(1ms);
    }
    EXPECT_GT(waits.size(), 150U);
    std::ranges::sort(waits);
    return waits;
  }
  void burst(std::size_t from, std::uint8_t sl) {
    for (unsigned i = 0; i < World::kBurst; ++i) {
      if (!link_world::write(world.node(from).link(), cell_of(sl, from, 10, 1300))) break;
    }
    world.node(from).port.flush(world.clock.now());
  }
  static base::Duration percentile(const Waits& sorted, std::size_t percent) {
    return sorted.at((sorted.size() - 1) * percent / 100);
  }

  World world{10, {.batch_queue_max = 2}};
  std::map<std::size_t, std::size_t> arrived;  // cells at node 10, by sender
};

// Before the switch has a choice the carrier holds two batches and the link one.
constexpr base::Duration kBeyondTheSwitch = 3ms;

TEST_F(BulkTest, S000_41_high_levels_do_not_wait_behind_the_bulk_of_low_ones) {
  const Waits high = waits_of(3);
  EXPECT_LE(percentile(high, 99), kBeyondTheSwitch + 1ms);
  EXPECT_EQ(world.drops(), 0U);
  for (std::size_t from = 1; from <= 8; ++from) EXPECT_GT(arrived[from], 1000U) << from;
  EXPECT_TRUE(world.is_balanced());
}

// Without lanes the test above would see this: one batch of each input lies before.
TEST_F(BulkTest, S000_41_among_equals_a_cell_waits_for_those_before) {
  EXPECT_GE(percentile(waits_of(0), 50), kBeyondTheSwitch + 5ms);
}

// The lowest level under bulk of the highest: each round has its share for it.
TEST_F(BulkTest, S000_41_low_levels_do_not_starve) {
  EXPECT_LE(percentile(waits_of(0, 3), 99), 20ms);
  EXPECT_EQ(world.drops(), 0U);
}

// A hostile node floods management, which goes before all lanes.
TEST(SwitchLanesTest, S000_41_a_flood_of_management_starves_nobody) {
  World world(3, {.batch_queue_max = 2});
  std::map<unsigned, std::size_t> arrived;
  for (unsigned round = 0; round < 400; ++round) {
    for (unsigned i = 0; i < World::kBurst; ++i) {
      if (!link_world::write(world.node(1).link(), mgmt_of(1, 3, 1300))) break;
    }
    world.node(1).port.flush(world.clock.now());
    world.burst(2, [](unsigned) { return World::lid(3); });
    world.iterate({3});
    world.only_send(3);
    if (round % 2 == 0) world.read_one(3);
    world.clock.advance(1ms);
  }
  for (const Cell& got : world.node(3).cells) ++arrived[MacHeader::parse(got.data()).slid.value];
  EXPECT_GT(arrived[World::lid(2).value], world.node(3).cells.size() / 12);
  EXPECT_EQ(world.drops(), 0U);
}

// An input waits for the lanes that have cells of it, and for no others.
TEST(SwitchLanesTest, S000_40_an_input_waits_for_its_own_lanes_only) {
  World world(6, {.batch_queue_max = 2});
  for (const std::uint8_t from :
       {std::uint8_t{1}, std::uint8_t{4}, std::uint8_t{5}, std::uint8_t{6}}) {
    while (world.sw.may_read(from)) {
      world.burst(from, [](unsigned) { return World::lid(3); });
      world.iterate({3});
    }
  }
  ASSERT_TRUE(world.write(2, cell_of(3, 2, 3, 64)));
  world.iterate({3});
  ASSERT_FALSE(world.sw.may_read(2));
  // There is room for a part of what waits: the high lane is empty first.
  world.read_one(3);
  world.iterate({3});
  EXPECT_TRUE(world.sw.may_read(2));
  EXPECT_FALSE(world.sw.may_read(1));
  world.settle();
  EXPECT_TRUE(world.sw.may_read(1));
  EXPECT_EQ(world.drops(), 0U);
}

}  // namespace switch_lanes_test
}  // namespace splitnic::fabric
