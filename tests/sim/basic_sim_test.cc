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

}  // namespace
}  // namespace splitnic::sim
