// An I/O unit that is stopped and started again, as a service manager or an upgrade does it: how
// long no frame crosses, in virtual time.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/sim_world.h"

namespace splitnic::sim::return_sim_test {

using namespace std::chrono_literals;

WorldConfig config_of(std::uint64_t seed, bool is_keyed) {
  WorldConfig config;
  config.seed = seed;
  config.is_keyed = is_keyed;
  config.faults.delay = 200us;
  config.host_pair.pools = config.iou_pair.pools = {{64, 2048}};
  return config;
}

// Frames have crossed in both directions since these many had.
bool has_crossed(const World& world, std::uint64_t to_lan, std::uint64_t to_host) {
  return world.to_lan.taken() > to_lan && world.to_host.taken() > to_host;
}

// The unit is away for `away`. Returns how long no frame crosses, from its stop on.
base::Duration gap_of(World& world, base::Duration away) {
  EXPECT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  world.run(300ms);
  EXPECT_TRUE(world.quiet());
  const base::Time stopped = world.clock.now();
  world.restart_iou_cleanly(away);
  const std::uint64_t to_lan = world.to_lan.taken();
  const std::uint64_t to_host = world.to_host.taken();
  // Frames that the unit reads from the LAN while it has no host are of no use to anybody.
  while (!has_crossed(world, to_lan, to_host) && world.clock.now() < stopped + 5s) {
    world.send_to_lan(100);
    world.send_to_host(100);
    world.run(2ms);
  }
  return world.clock.now() - stopped;
}

// The processes themselves are away for 100 to 250 ms of it. Where the unit is away for longer the
// host is no later than its steps of 50 ms and a third, and the handshakes.
TEST(SimReturn, B_13_a_unit_that_is_restarted_cleanly_is_back_within_500_ms) {
  for (const bool is_keyed : {false, true}) {
    base::Duration longest{};
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      for (const base::Duration away : {20ms, 130ms, 250ms, 400ms}) {
        World world(config_of(seed, is_keyed));
        const base::Duration gap = gap_of(world, away);
        EXPECT_LE(gap, std::max<base::Duration>(away, 100ms) + 90ms)
            << (is_keyed ? "keyed, " : "plain, ") << "seed " << seed << ", away " << away / 1ms
            << " ms";
        longest = std::max(longest, gap);
      }
    }
    EXPECT_LE(longest, 500ms);
    EXPECT_GE(longest, 400ms);
  }
}

}  // namespace splitnic::sim::return_sim_test
