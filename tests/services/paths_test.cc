// One RC queue pair over several paths: cells of one message by all of them, what a slow, a far and
// a dead one do to it.
#include <gtest/gtest.h>

#include "tests/support/spines_carrier.h"

namespace splitnic::fabric {
namespace paths_test {

using namespace testing;
using namespace std::chrono_literals;

constexpr std::size_t kBytes = 4 << 20;

// An RDMA write of kBytes by end 1, and what it took.
struct Transfer {
  explicit Transfer(SpinesPair& world, std::size_t bytes = kBytes)
      : world_(world),
        qp(world.pair.connect(QpInit{})),
        to(world.pair.a().memory(bytes)),
        from(world.pair.b().memory(bytes, 3)) {}
  void post() {
    ASSERT_TRUE(world_.pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
    began_ = world_.pair.now();
  }
  // Returns the time from post() on.
  base::Duration finish() {
    AdapterPair& pair = world_.pair;
    EXPECT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }, 60s));
    if (pair.b().sent.empty()) return 60s;
    EXPECT_EQ(pair.b().sent.front().status, WcStatus::kSuccess);
    EXPECT_EQ(to.bytes, from.bytes);
    pair.b().sent.clear();
    return pair.now() - began_;
  }

 private:
  SpinesPair& world_;
  base::Time began_{};

 public:
  const QpPair qp;
  Memory& to;
  Memory& from;
};

std::uint64_t retransmitted(SpinesPair& world) {
  return world.pair.b().count(TransportCounter::kTxRetransmit);
}

TEST(PathsTest, S000_46_cells_of_one_message_go_by_all_paths) {
  SpinesPair world({.spines = 4, .lmc = 2});
  Transfer transfer(world);
  std::array<std::uint64_t, 5> before{};
  for (unsigned spine = 1; spine <= 4; ++spine) before[spine] = world.fabric.cells_of(spine);
  transfer.post();
  transfer.finish();
  for (unsigned spine = 1; spine <= 4; ++spine) {
    EXPECT_GT(world.fabric.cells_of(spine) - before[spine], 500U) << spine;
  }
  EXPECT_EQ(retransmitted(world), 0U);
}

TEST(PathsTest, S000_46_one_path_takes_all_where_it_is_named) {
  SpinesPair world({.path = 1});
  Transfer transfer(world);
  const std::uint64_t before = world.fabric.cells_of(1);
  transfer.post();
  transfer.finish();
  EXPECT_LT(world.fabric.cells_of(1) - before, 100U);  // of the unit: ACKs
  EXPECT_GT(world.fabric.cells_of(2), 2900U);
}

// The path is the limit: 100 MB/s each.
TEST(PathsTest, S000_46_two_paths_carry_more_than_one) {
  base::Duration took[2];
  for (const bool uses_all : {false, true}) {
    SpinesPair world({.path = uses_all ? kAllPaths : 0});
    for (const unsigned spine : {1U, 2U}) world.fabric.set_rate(spine, 100'000'000);
    Transfer transfer(world);
    transfer.post();
    took[uses_all ? 1 : 0] = transfer.finish();
  }
  const double gain = static_cast<double>(took[0].count()) / static_cast<double>(took[1].count());
  std::printf("two paths carry %.2f times one\n", gain);
  EXPECT_GE(gain, 1.6);
}

TEST(PathsTest, S000_46_a_path_of_another_delay_loses_nothing) {
  SpinesPair world;
  world.fabric.set_faults(2, {.delay = 300us});
  Transfer transfer(world);
  transfer.post();
  transfer.finish();
  EXPECT_GT(world.fabric.cells_of(1), 500U);
  EXPECT_GT(world.fabric.cells_of(2), 500U);
  EXPECT_EQ(retransmitted(world), 0U);
}

// Beyond what the sender allows for, the longer path counts as silent most of the time.
TEST(PathsTest, S000_46_a_path_that_is_far_longer_is_left_alone) {
  SpinesPair world;
  world.fabric.set_faults(2, {.delay = 40ms});
  Transfer transfer(world);
  transfer.post();
  EXPECT_LT(transfer.finish(), 200ms);
  EXPECT_GT(world.fabric.cells_of(1), 2500U);
}

TEST(PathsTest, S000_46_random_loss_on_all_paths_is_repaired) {
  SpinesPair world;
  for (const unsigned spine : {1U, 2U}) world.fabric.set_faults(spine, {.loss_ppm = 10'000});
  Transfer transfer(world);
  transfer.post();
  transfer.finish();
  EXPECT_GT(retransmitted(world), 30U);
}

// Each spine, with the base LIDs of both ends by one spine and by two, and each end as the sender.
struct Death {
  RoutingKind routing;
  unsigned spine;
  bool is_unit_sender;
};
std::vector<Death> deaths() {
  std::vector<Death> all;
  for (const RoutingKind routing : {RoutingKind::kShortest, RoutingKind::kUpDown}) {
    for (const unsigned spine : {1U, 2U}) {
      for (const bool is_unit_sender : {false, true})
        all.push_back({routing, spine, is_unit_sender});
    }
  }
  return all;
}
class DeadSpineTest : public ::testing::TestWithParam<Death> {
 protected:
  // Some cells of the host, so that the unit knows its paths.
  void meet(Transfer& transfer) {
    transfer.post();
    transfer.finish();
  }
  SpinesPair world{{.routing = GetParam().routing}};
};

// The queue pair continues by the other spine, although nothing reports it.
TEST_P(DeadSpineTest, S000_47_a_transfer_continues_while_a_path_is_left) {
  AdapterPair& pair = world.pair;
  const auto [routing, dead, is_unit_sender] = GetParam();
  for (const unsigned spine : {1U, 2U}) {
    world.fabric.set_rate(spine, 100'000'000);
    world.fabric.set_faults(spine, {.delay = 10us});  // of each cable and direction
  }
  Transfer there(world);
  meet(there);
  End& sender = is_unit_sender ? pair.a() : pair.b();
  Memory& from = sender.memory(kBytes, 9);
  Memory& to = (is_unit_sender ? pair.b() : pair.a()).memory(kBytes);
  const base::Time began = pair.now();
  ASSERT_TRUE(sender.post_write(is_unit_sender ? there.qp.a : there.qp.b, {from.sge()}, to.start,
                                to.handle));
  pair.run_for(10ms);
  ASSERT_TRUE(sender.sent.empty());
  world.fabric.kill(dead);
  ASSERT_TRUE(pair.run_until([&] { return !sender.sent.empty(); }));
  EXPECT_EQ(sender.sent.front().status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, from.bytes);
  // Both spines carry half of it in 21 ms, and one carries what is left at 10 ms in 22 ms.
  const auto late =
      std::chrono::duration_cast<std::chrono::microseconds>(pair.now() - began - 32ms);
  std::printf("%s: time to recover %lld us\n", std::string(name(routing)).c_str(),
              static_cast<long long>(late.count()));
  EXPECT_LT(late, 50ms);
}

// Small messages arrive, without a timeout each.
TEST_P(DeadSpineTest, S000_47_the_link_and_its_messages_live_while_a_path_is_left) {
  AdapterPair& pair = world.pair;
  Transfer small(world, 5000);
  meet(small);
  world.fabric.kill(GetParam().spine);
  pair.run_for(5s);
  ASSERT_TRUE(pair.a().link().up() && pair.b().link().up());
  std::vector<base::Duration> times;
  for (unsigned i = 0; i < 200; ++i) {
    small.post();
    times.push_back(small.finish());
    pair.run_for(10ms);
  }
  std::ranges::sort(times);
  EXPECT_LT(times[160], 1ms);
  EXPECT_LT(times.back(), 50ms);
  EXPECT_FALSE(pair.a().link().is_path_narrowed() || pair.b().link().is_path_narrowed());
}

// One way only, for as long as path probes take to conclude something.
TEST_P(DeadSpineTest, S000_47_a_dead_path_is_no_narrow_one) {
  AdapterPair& pair = world.pair;
  Transfer some(world, 100'000);
  meet(some);
  const std::uint16_t mcp = pair.b().link().mcp();
  world.fabric.kill(GetParam().spine);
  for (unsigned i = 0; i < 600; ++i) {
    some.post();
    some.finish();
    pair.run_for(9ms);
  }
  EXPECT_FALSE(pair.a().link().is_path_narrowed() || pair.b().link().is_path_narrowed());
  EXPECT_EQ(pair.b().link().mcp(), mcp);
}
INSTANTIATE_TEST_SUITE_P(All, DeadSpineTest, ::testing::ValuesIn(deaths()));

TEST(PathsTest, S000_47_one_of_eight_paths_is_enough) {
  SpinesPair world({.spines = 8, .lmc = 3});
  Transfer small(world, 5000);
  small.post();
  small.finish();
  for (unsigned spine = 1; spine <= 7; ++spine) world.fabric.kill(spine);
  for (unsigned i = 0; i < 5; ++i) {
    world.pair.run_for(3s);
    ASSERT_TRUE(world.pair.a().link().up() && world.pair.b().link().up());
    small.post();
    EXPECT_LT(small.finish(), 2500ms);  // a timeout for each dead path at most
  }
}

// Although it learns while it sends how many there are.
TEST(PathsTest, S000_46_the_unit_replies_by_all_paths_too) {
  SpinesPair world;
  Transfer first(world, 100);
  AdapterPair& pair = world.pair;
  Memory& to = pair.b().memory(kBytes);
  Memory& from = pair.a().memory(kBytes, 9);
  const std::uint64_t before[] = {world.fabric.cells_of(1), world.fabric.cells_of(2)};
  for (unsigned i = 0; i < 20; ++i) first.post();
  ASSERT_TRUE(pair.a().post_write(first.qp.a, {from.sge()}, to.start, to.handle));
  ASSERT_TRUE(pair.run_until([&] { return !pair.a().sent.empty(); }));
  EXPECT_EQ(to.bytes, from.bytes);
  EXPECT_GT(world.fabric.cells_of(1) - before[0], 1000U);
  EXPECT_GT(world.fabric.cells_of(2) - before[1], 1000U);
}

TEST(PathsTest, S000_47_reads_continue_while_a_path_is_left) {
  for (const unsigned dead : {1U, 2U}) {
    SpinesPair world;
    QpInit init;
    init.common.max_dest_rd_atomic = 4;
    const QpPair qp = world.pair.connect(init);
    AdapterPair& pair = world.pair;
    Memory& remote = pair.a().memory(200'000, 5);
    Memory& local = pair.b().memory(200'000);
    for (unsigned i = 0; i < 6; ++i) {
      if (i == 2) world.fabric.kill(dead);
      SendWr wr;
      wr.op = WrOp::kRdmaRead;
      const std::array pieces{local.sge()};
      wr.gather = pieces;
      wr.remote_address = remote.start;
      wr.remote_handle = remote.handle;
      ASSERT_TRUE(pair.b().adapter->post_send(qp.b, wr));
      const base::Time began = pair.now();
      ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() > i; })) << dead << " " << i;
      EXPECT_LT(pair.now() - began, 300ms) << dead << " " << i;
      EXPECT_EQ(pair.b().sent.back().status, WcStatus::kSuccess);
      EXPECT_EQ(local.bytes, remote.bytes);
      std::ranges::fill(local.bytes, std::byte{0});
    }
  }
}

}  // namespace paths_test
}  // namespace splitnic::fabric
