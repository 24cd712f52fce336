// A hostile host next to another one: what it does must not reach the other, and what the tests
// here check is that it does anything at all. Many seeds: sim_runner --hostile.
#include <gtest/gtest.h>

#include "tests/sim/scenario.h"

namespace splitnic::sim {
namespace hostile_sim_test {

using namespace std::chrono_literals;

TEST(HostileSim, L_15_it_attaches_sends_frames_and_comes_back_when_it_is_thrown_out) {
  using fabric::session::SessionCounter;
  std::uint64_t acts = 0, connections = 0, frames = 0, spoofed = 0, impersonated = 0, reached = 0;
  std::uint64_t sessions = 0, changed = 0, repeated = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    WorldConfig config{.seed = seed, .hostility = Hostility::kHostile};
    World world(config);
    ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
    world.run(600ms);
    acts += world.hostile->acts();
    connections += world.hostile->connections();
    frames += world.hostile_frames;
    spoofed += world.counter("iou.from_host.drop.spoof");
    impersonated += world.counter("link.rx.drop.identity");
    reached += world.counter("fabric.drop.access");
    const auto& session = world.iou_sessions().counters();
    sessions += session[SessionCounter::kEstablished] + session[SessionCounter::kRekeyed];
    changed += session[SessionCounter::kRxDropTag];
    repeated += session[SessionCounter::kRxDropReplay];
    EXPECT_TRUE(world.connected()) << seed;
    EXPECT_EQ(world.counter("host.pair.downs"), 0U) << seed;
    const auto violations = world.violations();
    EXPECT_TRUE(violations.empty()) << seed << ": " << violations.front();
  }
  EXPECT_GT(acts, 10'000U);
  EXPECT_GT(connections, 8U);
  EXPECT_GT(frames, 100U);
  EXPECT_GT(spoofed, 0U);
  EXPECT_GT(impersonated, 0U) << "INIT in the name of the other";
  EXPECT_GT(reached, 0U) << "memory that it was not given";
  EXPECT_GT(sessions, 2 * 8U) << "its handshakes";
  EXPECT_GT(changed, 0U);
  EXPECT_GT(repeated, 0U);
}

TEST(HostileSim, L_15_the_same_seed_gives_the_same_run) {
  Scenario scenario;
  scenario.world.seed = 3;
  scenario.world.hostility = Hostility::kHostile;
  scenario.frames = 100;
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
