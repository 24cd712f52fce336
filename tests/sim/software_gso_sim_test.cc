// Ports that split a super-frame and block in the middle of it: the rest is the port's own, and
// goes without the pair that it came by.
#include <gtest/gtest.h>

#include "lan_bridge/frame/segment.h"
#include "tests/sim/sim_world.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::sim::software_gso_sim_test {

using namespace std::chrono_literals;
using lan::frame_builder::Bytes;
using lan::frame_builder::make_frame;

std::vector<Bytes> segments_of(const Bytes& frame) {
  std::vector<Bytes> out;
  auto segmenter = lan::Segmenter::of(frame, lan::Segmenter::Mode::kFinished);
  lan::Piece piece;
  while (segmenter->next(piece)) {
    out.emplace_back(piece.size());
    piece.copy_to(out.back());
  }
  return out;
}

// Takes two frames, then none.
std::vector<Bytes>& watch(FakePort& port, std::vector<Bytes>& seen) {
  port.has_software_gso = true;
  port.writes_left = 2;
  port.on_write = [&seen](base::Bytes frame) { seen.emplace_back(frame.begin(), frame.end()); };
  return seen;
}

TEST(SimSoftwareGso, the_lan_gets_the_rest_of_a_super_frame_of_a_host_that_is_gone) {
  WorldConfig config;
  World world(config);
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  std::vector<Bytes> seen;
  watch(world.lan, seen);
  const Bytes frame =
      make_frame({.payload_bytes = 4500, .gso_size = 1000, .source = world.tap.state().mac});
  world.tap.queue(frame);
  world.run(5ms);
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_TRUE(world.iou->nics()[0]->wants_output());
  world.restart_host();
  world.run(1s);
  EXPECT_TRUE(world.iou->nics()[0]->wants_output());
  world.lan.writes_left = SIZE_MAX;
  world.run(1ms);
  EXPECT_EQ(seen, segments_of(frame));
  EXPECT_FALSE(world.iou->nics()[0]->wants_output());
}

TEST(SimSoftwareGso, the_tap_gets_the_rest_of_a_super_frame_of_a_unit_that_is_gone) {
  World world(WorldConfig{});
  ASSERT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  std::vector<Bytes> seen;
  watch(world.tap, seen);
  const Bytes frame =
      make_frame({.payload_bytes = 4500, .gso_size = 1000, .destination = world.tap.state().mac});
  world.lan.queue(frame);
  world.run(5ms);
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_TRUE(world.host->wants_tap_output());
  world.restart_iou();
  world.run(1s);
  EXPECT_TRUE(world.host->wants_tap_output());
  world.host->begin_stop();
  world.run(1s);
  EXPECT_FALSE(world.host->is_drained());
  world.tap.writes_left = SIZE_MAX;
  world.run(1ms);
  EXPECT_EQ(seen, segments_of(frame));
  EXPECT_FALSE(world.host->wants_tap_output());
  EXPECT_TRUE(world.host->is_drained());
}

}  // namespace splitnic::sim::software_gso_sim_test
