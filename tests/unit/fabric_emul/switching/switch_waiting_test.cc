// Outputs of a switch that take less than comes: their inputs wait and nothing is lost, each input
// gets its share, and a receiver that takes nothing or little holds up nobody for long.
#include <gtest/gtest.h>

#include "fabric_emul/switching/switch.h"
#include "tests/unit/fabric_emul/switching/switch_world.h"

namespace splitnic::fabric {
namespace switch_waiting_test {

using namespace switch_world;

// Node 1 sends as much as its link takes, in turn to 3 and to a node 4 that takes little.
class SlowReceiverTest : public ::testing::Test {
 protected:
  // Cells that node 3 gets in this time, in which node 4 reads one batch per `read_every`.
  std::size_t cells_of_3(base::Duration time, base::Duration read_every) {
    world.node(3).cells.clear();
    for (const base::Time end = world.clock.now() + time; world.clock.now() < end;) {
      sent_ += world.burst(1, [this](unsigned i) { return World::lid(3 + (sent_ + i) % 2); });
      world.iterate({4});
      world.only_send(4);
      if (read_every > 0ns && world.clock.now() >= read_at_) {
        read_at_ = world.clock.now() + read_every;
        world.read_one(4);
      }
      world.clock.advance(4ms);
    }
    return world.node(3).cells.size();
  }
  void fill_4() {
    cells_of_3(100ms, 0ns);
    ASSERT_GT(world.count(SwitchCounter::kWait), 0U);
  }

  World world{4, {.batch_queue_max = 8}};
  unsigned sent_ = 0;
  base::Time read_at_{};
};

TEST_F(SlowReceiverTest, S000_45_a_stopped_receiver_holds_up_nobody_for_long) {
  fill_4();
  EXPECT_GT(cells_of_3(300ms, 0ns), 900U);
  EXPECT_GT(cells_of_3(400ms, 0ns), 1800U);
  EXPECT_EQ(world.count(SwitchCounter::kDropDown), 0U);
  EXPECT_GT(world.count(SwitchCounter::kDropStalled), 0U);
  EXPECT_TRUE(world.is_balanced());
}

TEST_F(SlowReceiverTest, S000_45_a_receiver_that_takes_little_holds_up_nobody_for_long) {
  fill_4();
  EXPECT_GT(cells_of_3(300ms, 90ms), 900U);
  EXPECT_GT(cells_of_3(1s, 90ms), 3500U);
  EXPECT_GT(world.count(SwitchCounter::kDropStalled), 0U);
  EXPECT_TRUE(world.is_balanced());
}

TEST_F(SlowReceiverTest, S000_45_what_fits_is_sent_to_a_receiver_that_is_back) {
  fill_4();
  cells_of_3(300ms, 0ns);
  world.settle();
  world.node(4).cells.clear();
  ASSERT_TRUE(world.write(1, cell(World::lid(1), World::lid(4))));
  world.settle();
  EXPECT_EQ(world.node(4).cells.size(), 1U);
}

// 6 batches per 100 ms: nearly as slow as one may be that loses nothing.
TEST_F(SlowReceiverTest, S000_45_a_slow_receiver_makes_its_senders_wait_and_loses_nothing) {
  cells_of_3(1s, 16ms);
  EXPECT_GT(world.count(SwitchCounter::kWait), 0U);
  EXPECT_EQ(world.drops(), 0U);
  EXPECT_TRUE(world.is_balanced());
}

// So that nobody polls for what is not read meanwhile.
TEST(SwitchWaitingTest, S000_45_an_input_that_waits_may_not_be_read) {
  World world(3);
  const auto may_read = [&] {
    return std::array{world.sw.may_read(1), world.sw.may_read(2), world.sw.may_read(3)};
  };
  EXPECT_EQ(may_read(), (std::array{true, true, true}));
  while (world.sw.waiting_cells() == 0) {
    world.burst(1, [](unsigned) { return World::lid(3); });
    world.iterate({3});
  }
  EXPECT_EQ(may_read(), (std::array{false, true, true}));
  EXPECT_LT(world.sw.deadline(), world.clock.now() + 1ms);
  world.settle();
  EXPECT_EQ(may_read(), (std::array{true, true, true}));
  EXPECT_EQ(world.drops(), 0U);
}

// Outputs 2 and 3 are full when node 1 has cells for both. It is not read when only one has taken
// its cells, or the queue of the other would grow by a batch each time.
TEST(SwitchWaitingTest, S000_45_an_input_waits_for_all_outputs_that_it_feeds) {
  World world(5, {.batch_queue_max = 4});
  unsigned sent = 0;
  for (const std::uint8_t full : {std::uint8_t{2}, std::uint8_t{3}}) {
    const auto from = static_cast<std::uint8_t>(full + 2);
    while (world.sw.may_read(from)) {
      sent += world.burst(from, [full](unsigned) { return World::lid(full); });
      world.iterate({2, 3});
    }
  }
  sent += world.burst(1, [](unsigned i) { return World::lid(2 + i % 2); });
  world.iterate({2, 3});
  ASSERT_FALSE(world.sw.may_read(1) || world.sw.may_read(4) || world.sw.may_read(5));
  world.settle({2});
  EXPECT_TRUE(world.sw.may_read(5));
  EXPECT_FALSE(world.sw.may_read(4));
  EXPECT_FALSE(world.sw.may_read(1));
  world.settle();
  EXPECT_TRUE(world.sw.may_read(1) && world.sw.may_read(4));
  EXPECT_EQ(world.drops(), 0U);
  EXPECT_EQ(world.node(2).cells.size() + world.node(3).cells.size(), sent);
}

// Three nodes send all they can to one that reads slowly. Links that do not lose make this
// lossless.
TEST(SwitchWaitingTest, S000_45_contention_makes_senders_wait_and_loses_nothing) {
  World world(4, {.batch_queue_max = 4});
  std::map<std::size_t, unsigned> sent;
  const std::size_t payload = 1300;
  for (unsigned round = 0; round < 400; ++round) {
    for (std::size_t from = 1; from <= 3; ++from) {
      for (unsigned i = 0; i < 40; ++i) {
        const unsigned seed = static_cast<unsigned>(from) << 16 | sent[from];
        if (!world.write(from, cell(World::lid(from), World::lid(4), payload, seed))) break;
        ++sent[from];
      }
    }
    world.iterate({4});
    if (round % 8 != 0) continue;
    world.read_one(4);
  }
  world.settle();
  EXPECT_GT(world.count(SwitchCounter::kWait), 0U);
  EXPECT_EQ(world.drops(), 0U);
  // All arrived, those of each sender in their order.
  std::map<std::size_t, unsigned> arrived;
  for (const Cell& got : world.node(4).cells) {
    const MacHeader header = MacHeader::parse(got.data());
    const std::size_t from = header.slid.value - 10U;
    ASSERT_EQ(header.psn, Psn(static_cast<unsigned>(from) << 16 | arrived[from]));
    ++arrived[from];
  }
  EXPECT_EQ(arrived, sent);
  EXPECT_TRUE(world.is_balanced());
}

TEST(SwitchWaitingTest, S000_45_who_sends_elsewhere_is_not_held_up_by_a_stopped_receiver) {
  World world(4);
  // Node 4 reads nothing, but its link stays up for as long as this takes.
  for (unsigned i = 0; i < 20000; ++i) {
    if (!world.write(1, cell(World::lid(1), World::lid(4), 1300, i))) break;
    world.iterate({4});
  }
  ASSERT_GT(world.sw.waiting_cells(), 0U);
  for (unsigned i = 0; i < 100; ++i) {
    ASSERT_TRUE(world.write(2, cell(World::lid(2), World::lid(3), 1300, i)));
    world.settle({1, 4});
  }
  EXPECT_EQ(world.node(3).cells.size(), 100U);
  // The waiting cells are dropped after some time, and counted.
  world.run(WaitBudget::kWaitMax + 10ms, {1, 4});
  EXPECT_GT(world.count(SwitchCounter::kDropStalled), 0U);
  EXPECT_TRUE(world.is_balanced());
}

// The receiver takes less than each of its senders could send.
TEST(SwitchWaitingTest, S000_45_each_sender_gets_its_share) {
  World world(4, {.batch_queue_max = 4});
  for (unsigned round = 0; round < 500; ++round) {
    for (std::size_t from = 1; from <= 3; ++from) {
      world.burst(from, [](unsigned) { return World::lid(4); });
    }
    world.iterate({4});
    world.only_send(4);
    if (round % 8 == 0) world.read_one(4);
    world.clock.advance(10us);
  }
  std::map<unsigned, std::size_t> arrived;
  for (const Cell& got : world.node(4).cells) ++arrived[MacHeader::parse(got.data()).slid.value];
  for (std::size_t from = 1; from <= 3; ++from) {
    EXPECT_GT(arrived[World::lid(from).value], world.node(4).cells.size() / 5) << from;
  }
  EXPECT_EQ(world.drops(), 0U);
}

}  // namespace switch_waiting_test
}  // namespace splitnic::fabric
