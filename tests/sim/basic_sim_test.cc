// The whole of host, fabric and I/O unit on a clean path.
#include <gtest/gtest.h>

#include "tests/sim/sim_world.h"

namespace splitnic::sim {
namespace {

using namespace std::chrono_literals;

TEST(Sim, S001_28_frames_cross_both_ways_unchanged_and_in_order) {
  World world({.seed = 7});
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  for (std::size_t bytes = Ledger::kFrameMin; bytes < 1540; bytes += 7) {
    world.send_to_lan(bytes);
    world.send_to_host(bytes);
  }
  EXPECT_TRUE(world.run_until(5s, [&] {
    return world.to_lan.taken() == world.to_lan.sent() &&
           world.to_host.taken() == world.to_host.sent();
  }));
  EXPECT_EQ(world.to_lan.taken(), world.to_lan.sent());
  EXPECT_EQ(world.to_host.taken(), world.to_host.sent());
  EXPECT_TRUE(world.violations().empty()) << world.violations().front();
  world.run(100ms);
  EXPECT_TRUE(world.quiet());
  EXPECT_TRUE(world.pools_full());
}

// Super-frames are split to what is left.
TEST(Sim, S001_17_the_port_reads_what_the_pools_take_once_the_longest_has_ended) {
  World world({.seed = 7});
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  const auto sends = [&] {
    world.send_to_lan(200);
    return world.run_until(2s, [&] { return world.to_lan.taken() == world.to_lan.sent(); });
  };
  EXPECT_TRUE(sends());
  EXPECT_EQ(world.tap.frame_bytes_max, 65536U);
  messaging::Connection& connection = *world.host->connection();
  for (const messaging::PoolView& pool : connection.pools()) {
    if (!pool.ours && pool.size == 65536) connection.first().flush({&pool.ref, 1}, false);
  }
  EXPECT_TRUE(sends());
  EXPECT_EQ(world.tap.frame_bytes_max, 2048U);
}

}  // namespace
}  // namespace splitnic::sim
