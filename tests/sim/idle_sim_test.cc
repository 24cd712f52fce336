// --idle-release: an idle host gives memory back, and nobody notices.
#include <gtest/gtest.h>

#include "tests/sim/sim_world.h"

namespace splitnic::sim {
namespace idle_sim_test {

using namespace std::chrono_literals;

class IdleSim : public ::testing::Test {
 protected:
  IdleSim() {
    WorldConfig config;
    config.idle_release = 5s;
    world_ = std::make_unique<World>(config);
    EXPECT_TRUE(world_->run_until(5s, [&] { return world_->connected(); }));
  }
  std::uint64_t given() { return world_->counter("host.idle.released"); }
  void expect_frames_pass(int frames) {
    world_->mark();
    for (int i = 0; i < frames; ++i) {
      world_->send_to_host(1400);
      world_->send_to_lan(1400);
    }
    EXPECT_TRUE(world_->run_until(5s, [&] { return world_->all_arrived(); }));
    EXPECT_EQ(world_->violations(), std::vector<std::string>{});
  }
  std::unique_ptr<World> world_;
};

TEST_F(IdleSim, X_23_an_idle_host_releases_memory_and_the_first_frame_arrives) {
  expect_frames_pass(2000);
  const auto before = world_->host->connection()->pools();
  const std::uint64_t then = given();
  world_->run(11s);
  EXPECT_GT(given(), then + (4U << 20));
  expect_frames_pass(1);
  expect_frames_pass(2000);
  const auto after = world_->host->connection()->pools();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i].handle, before[i].handle);
  EXPECT_EQ(world_->counter("host.pair.downs"), 0U);
}

TEST_F(IdleSim, X_23_ten_frames_per_second_are_not_idle) {
  world_->run(5s);
  const std::uint64_t then = given();
  for (int i = 0; i < 200; ++i) {
    world_->send_to_host(100);
    world_->run(90ms);
  }
  EXPECT_EQ(given(), then);
  world_->run(11s);
  EXPECT_GT(given(), then);
}

TEST_F(IdleSim, B_04_another_time_counts_from_then_on) {
  world_->host->set_idle_release({});
  const std::uint64_t then = given();
  world_->run(11s);
  EXPECT_EQ(given(), then);
  expect_frames_pass(2000);
  world_->host->set_idle_release(2s);
  world_->run(5s);
  EXPECT_GT(given(), then);
}

TEST(IdleSimOff, X_23_without_the_option_nothing_is_released) {
  World world(WorldConfig{});
  ASSERT_TRUE(world.run_until(5s, [&] { return world.connected(); }));
  world.run(120s);
  EXPECT_EQ(world.counter("host.idle.released"), 0U);
}

// Frames come while pages go, over a path that loses some: none changes.
TEST(IdleSimLoss, X_23_release_under_loss_changes_no_frame) {
  WorldConfig config;
  config.idle_release = 1ms;
  config.seed = 7;
  World world(config);
  ASSERT_TRUE(world.run_until(5s, [&] { return world.connected(); }));
  world.set_faults({.loss_ppm = 100'000});
  world.mark();
  for (int i = 0; i < 400; ++i) {
    world.send_to_host(i % 7 == 0 ? 40'000 : 1000);
    world.run(std::chrono::microseconds(700 * (i % 5)));
  }
  world.set_faults({});
  EXPECT_TRUE(world.run_until(20s, [&] { return world.all_arrived(); }));
  EXPECT_EQ(world.violations(), std::vector<std::string>{});
  EXPECT_GT(world.counter("host.idle.released"), 0U);
}

}  // namespace idle_sim_test
}  // namespace splitnic::sim
