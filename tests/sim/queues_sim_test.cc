// Several queues between host and I/O unit: each flow in its order, whatever the path does.
#include <gtest/gtest.h>

#include "tests/sim/sim_world.h"

namespace splitnic::sim {
namespace queues_sim_test {

using namespace std::chrono_literals;

WorldConfig with(std::uint32_t asked, std::uint32_t given) {
  WorldConfig config{.seed = 21};
  config.host_pair.queues = asked;
  config.iou_pair.queues = given;
  return config;
}

bool exchange(World& world, int frames) {
  for (int i = 0; i < frames; ++i) {
    world.send_to_lan(Ledger::kFrameMin + static_cast<std::size_t>(i) * 7 % 1500);
    world.send_to_host(Ledger::kFrameMin + static_cast<std::size_t>(i) * 11 % 1500);
  }
  return world.run_until(20s, [&] {
    return world.to_lan.taken() == world.to_lan.sent() &&
           world.to_host.taken() == world.to_host.sent();
  });
}

// Returns the number of queues that have brought frames to this side.
std::size_t queues_used(fabric::Adapter& adapter, const messaging::Connection& group) {
  std::size_t used = 0;
  for (const messaging::ChannelView& channel : group.channels()) {
    if (channel.number != 1) continue;
    used += adapter.find_qp(channel.qpn)->responder().writes_completed() > 0 ? 1 : 0;
  }
  return used;
}

TEST(QueuesSim, S001_28_flows_over_three_queues_keep_their_order_under_loss) {
  World world(with(3, 8));
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  EXPECT_EQ(world.host->connection()->queues(), 3U);
  EXPECT_EQ(world.iou->hosts().at(0)->connection().queues(), 3U);
  fabric::FaultConfig faults;
  faults.loss_ppm = 30'000;
  faults.reorder_ppm = 50'000;
  faults.delay = 50us;
  world.set_faults(faults);
  EXPECT_TRUE(exchange(world, 600));
  EXPECT_EQ(queues_used(world.host_adapter(), *world.host->connection()), 3U);
  EXPECT_EQ(queues_used(world.iou_adapter(), world.iou->hosts().at(0)->connection()), 3U);
  world.set_faults({});
  EXPECT_TRUE(world.run_until(2s, [&] { return world.quiet() && world.pools_full(); }))
      << world.pools_fault();
  EXPECT_TRUE(world.violations().empty()) << world.violations().front();
  EXPECT_EQ(world.counter("host.pair.downs"), 0U);
}

TEST(QueuesSim, X_46_a_unit_with_fewer_is_asked_again_for_those) {
  for (const std::uint32_t given : {2U, 1U}) {
    World world(with(6, given));
    ASSERT_TRUE(world.run_until(5s, [&] { return world.connected(); }));
    EXPECT_EQ(world.host->connection()->queues(), given);
    EXPECT_EQ(world.counter("host.pair.downs"), 1U);
    EXPECT_TRUE(exchange(world, 100));
    EXPECT_TRUE(world.violations().empty()) << world.violations().front();
  }
}

// A unit that has more may be there after it.
TEST(QueuesSim, F_46_another_unit_is_asked_for_all_again) {
  WorldConfig config = with(6, 2);
  World world(config);
  ASSERT_TRUE(world.run_until(5s, [&] { return world.connected(); }));
  world.restart_iou();
  ASSERT_TRUE(world.run_until(20s, [&] { return world.counter("host.pair.downs") == 3; }));
  ASSERT_TRUE(world.run_until(10s, [&] { return world.connected(); }));
  EXPECT_EQ(world.host->connection()->queues(), 2U);
}

}  // namespace queues_sim_test
}  // namespace splitnic::sim
