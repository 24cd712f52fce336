// A hostile host next to another one: what it does must not reach the other, and what the tests
// here check is that it does anything at all. Many seeds: sim_runner --hostile.
#include <gtest/gtest.h>

#include "tests/sim/scenario.h"

namespace splitnic::sim {
namespace hostile_sim_test {

using namespace std::chrono_literals;

TEST(HostileSim, L_15_it_attaches_sends_frames_and_comes_back_when_it_is_thrown_out) {
  WorldConfig config{.seed = 15, .hostility = Hostility::kHostile};
  World world(config);
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  ASSERT_TRUE(world.run_until(2s, [&] { return world.hostile->is_attached(); }));
  world.run(3s);
  EXPECT_GT(world.hostile->acts(), 10'000U);
  EXPECT_GT(world.hostile->connections(), 2U);
  EXPECT_GT(world.hostile_frames, 10U);
  EXPECT_GT(world.counter("iou.from_host.drop.spoof"), 0U);
  EXPECT_GT(world.counter("link.rx.drop.identity"), 0U) << "INIT in the name of the other";
  EXPECT_GT(world.counter("fabric.drop.access"), 0U);
  EXPECT_TRUE(world.connected());
  EXPECT_EQ(world.counter("host.pair.downs"), 0U);
  const auto violations = world.violations();
  EXPECT_TRUE(violations.empty()) << violations.front();
}

TEST(HostileSim, L_15_the_same_seed_gives_the_same_run) {
  Scenario scenario = draw(3, 200);
  scenario.world.hostility = Hostility::kHostile;
  const Outcome one = run(scenario);
  const Outcome other = run(scenario);
  EXPECT_EQ(one.failure, "");
  EXPECT_GT(one.hostile_acts, 0U);
  EXPECT_EQ(one.trace_hash, other.trace_hash);
}

TEST(HostileSim, L_15_the_other_host_keeps_its_goodput) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::uint64_t quiet = goodput(seed, Hostility::kQuiet);
    EXPECT_GT(quiet, 100U) << seed;
    EXPECT_GE(goodput(seed, Hostility::kHostile) * 10, quiet * 9) << seed;
  }
}

}  // namespace hostile_sim_test
}  // namespace splitnic::sim
