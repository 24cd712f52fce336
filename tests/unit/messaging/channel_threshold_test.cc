// Small frames as SendData on channel 0 beside RDMA writes on channel 1: which goes where, in
// order, and what happens when channel 0 is full.
#include <gtest/gtest.h>

#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_threshold_test {
namespace {

using namespace std::chrono_literals;
using messaging::bench::ChannelBench;

const PairConfig kHost{.send_threshold = 512};

TEST(ChannelThreshold, S001_05_up_to_the_threshold_by_send_above_by_write) {
  ChannelBench bench({.host = kHost});
  ASSERT_TRUE(bench.connect());
  for (const std::size_t bytes : {12U, 511U, 512U, 513U, 1500U}) bench.host().queue(bytes);
  for (const std::size_t bytes : {12U, 512U, 513U}) bench.unit().queue(bytes);
  ASSERT_TRUE(bench.deliver());
  EXPECT_EQ(bench.unit().count("msg.rx.send_data"), 3U);
  EXPECT_EQ(bench.unit().count("msg.rx.writes"), 2U);
  // The threshold is the sender's own.
  EXPECT_EQ(bench.host().count("msg.rx.send_data"), 0U);
  EXPECT_EQ(bench.host().count("msg.rx.writes"), 3U);
}

TEST(ChannelThreshold, S001_05_a_threshold_beyond_a_message_is_cut_to_it) {
  ChannelBench bench({.host = {.send_threshold = 60000}});
  ASSERT_TRUE(bench.connect());
  bench.host().queue(4080);
  bench.host().queue(4081);
  ASSERT_TRUE(bench.deliver());
  EXPECT_EQ(bench.unit().count("msg.rx.send_data"), 1U);
  EXPECT_EQ(bench.unit().count("msg.rx.writes"), 1U);
}

class MixedFrames : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(MixedFrames, S001_05_a_direction_keeps_its_order) {
  ChannelBench bench({.host = kHost, .seed = GetParam() + 1});
  ASSERT_TRUE(bench.connect());
  base::SeededRandom random(GetParam() + 5);
  for (std::size_t i = 0; i < 2; ++i) {
    bench.side(i).faults.set_config({.loss_ppm = GetParam() * 5000, .reorder_ppm = 20000});
  }
  for (int n = 0; n < 3000; ++n) {
    bench.host().queue(12 + random.below(random.chance_ppm(500000) ? 500 : 5000));
    bench.unit().queue(12 + random.below(2000));
  }
  ASSERT_TRUE(bench.deliver());
  EXPECT_TRUE(bench.unit().wrong.empty()) << bench.unit().wrong.front();
  EXPECT_TRUE(bench.host().wrong.empty());
  EXPECT_EQ(bench.unit().taken, 3000U);
  EXPECT_EQ(bench.unit().gaps, 0U);
  EXPECT_EQ(bench.host().completed, 3000U);
  EXPECT_GT(bench.unit().count("msg.rx.send_data"), 1000U);
  EXPECT_GT(bench.unit().count("msg.rx.writes"), 1000U);
}
INSTANTIATE_TEST_SUITE_P(Loss, MixedFrames, ::testing::Values(0U, 2U, 6U));

TEST(ChannelThreshold, S001_06_while_the_peers_receive_queue_is_full_sends_wait_and_none_is_lost) {
  ChannelBench bench({.host = kHost});
  ASSERT_TRUE(bench.connect());
  bench.run_for(10ms);
  bench.unit().polls = false;
  for (int n = 0; n < 300; ++n) bench.host().queue(100);
  bench.run_for(50ms);
  // 64 receives are posted and taken; the rest waits here.
  EXPECT_EQ(bench.unit().taken, 0U);
  EXPECT_EQ(bench.host().completed, 64U);
  EXPECT_EQ(bench.host().queued(), 300U - 64U - bench.host().pair->pushes_in_flight());
  bench.unit().polls = true;
  ASSERT_TRUE(bench.deliver());
  EXPECT_EQ(bench.unit().taken, 300U);
  EXPECT_EQ(bench.unit().gaps, 0U);
  EXPECT_EQ(bench.unit().count("msg.drop.no_slot"), 0U);
}

TEST(ChannelThreshold, frames_leave_the_last_8_send_slots_to_updates) {
  ChannelBench bench({.host = kHost});
  ASSERT_TRUE(bench.connect());
  for (int n = 0; n < 600; ++n) bench.unit().queue(1500);
  bench.host().holds = true;
  bench.run_for(10ms);
  bench.unit().polls = false;
  bench.unit().faults.set_cut(true);
  for (int n = 0; n < 100; ++n) bench.host().queue(100);
  bench.run_for(1ms);
  EXPECT_EQ(bench.host().pair->pushes_in_flight(), 24U);
  const std::uint64_t before = bench.host().count("msg.tx.control");
  bench.host().release_held();
  bench.run_for(1ms);
  EXPECT_GT(bench.host().count("msg.tx.control"), before);  // an Update found a slot
  bench.unit().faults.set_cut(false);
  bench.unit().polls = true;
  bench.host().holds = false;
  EXPECT_TRUE(bench.deliver());
}

TEST(ChannelThreshold, a_frame_that_finds_no_slot_is_dropped_and_counted) {
  ChannelBench bench({.host = kHost});
  ASSERT_TRUE(bench.connect());
  bench.unit().holds = true;
  for (int n = 0; n < 100; ++n) bench.host().queue(100);
  ASSERT_TRUE(bench.run_until([&] { return bench.host().completed == 100; }, 5s));
  bench.run_for(10ms);
  EXPECT_EQ(bench.unit().held.size(), 64U);
  EXPECT_EQ(bench.unit().count("msg.drop.no_slot"), 36U);
  // Channel 0 goes on, and what is held does not change.
  int replies = 0;
  ASSERT_TRUE(bench.host().pair->request(CfgCode::kEcho, "x", bench.clock.now(),
                                         [&](const CfgReply& r) { replies += r.replied; }));
  ASSERT_TRUE(bench.run_until([&] { return replies == 1; }, 400ms));
  EXPECT_TRUE(bench.unit().wrong.empty());
  bench.unit().release_held();
  bench.unit().holds = false;
  for (int n = 0; n < 100; ++n) bench.host().queue(100);
  ASSERT_TRUE(bench.run_until([&] { return bench.unit().taken == 164; }, 5s));
}

}  // namespace
}  // namespace splitnic::messaging::channel_threshold_test
