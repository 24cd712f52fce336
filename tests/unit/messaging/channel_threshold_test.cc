// Small frames as SendData on channel 0 together with RDMA writes on channel 1: the way of each,
// the order, and the behaviour when channel 0 is full.
#include <gtest/gtest.h>

#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_threshold_test {
namespace {

using namespace std::chrono_literals;
using messaging::harness::ChannelFixture;

const PairConfig kHost{.send_threshold = 512};

TEST(ChannelThreshold, S001_05_up_to_the_threshold_by_send_above_by_write) {
  ChannelFixture harness({.host = kHost});
  ASSERT_TRUE(harness.connect());
  for (const std::size_t bytes : {12U, 511U, 512U, 513U, 1500U}) harness.host().queue(bytes);
  for (const std::size_t bytes : {12U, 512U, 513U}) harness.unit().queue(bytes);
  ASSERT_TRUE(harness.deliver());
  EXPECT_EQ(harness.unit().count("msg.rx.send_data"), 3U);
  EXPECT_EQ(harness.unit().count("msg.rx.writes"), 2U);
  // The threshold is the sender's own.
  EXPECT_EQ(harness.host().count("msg.rx.send_data"), 0U);
  EXPECT_EQ(harness.host().count("msg.rx.writes"), 3U);
}

TEST(ChannelThreshold, S001_05_a_threshold_beyond_a_message_is_cut_to_it) {
  ChannelFixture harness({.host = {.send_threshold = 60000}});
  ASSERT_TRUE(harness.connect());
  harness.host().queue(4080);
  harness.host().queue(4081);
  ASSERT_TRUE(harness.deliver());
  EXPECT_EQ(harness.unit().count("msg.rx.send_data"), 1U);
  EXPECT_EQ(harness.unit().count("msg.rx.writes"), 1U);
}

class MixedFrames : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(MixedFrames, S001_05_a_direction_keeps_its_order) {
  ChannelFixture harness({.host = kHost, .seed = GetParam() + 1});
  ASSERT_TRUE(harness.connect());
  base::SeededRandom random(GetParam() + 5);
  for (std::size_t i = 0; i < 2; ++i) {
    harness.side(i).faults.set_config({.loss_ppm = GetParam() * 5000, .reorder_ppm = 20000});
  }
  for (int n = 0; n < 3000; ++n) {
    harness.host().queue(12 + random.below(random.chance_ppm(500000) ? 500 : 5000));
    harness.unit().queue(12 + random.below(2000));
  }
  ASSERT_TRUE(harness.deliver());
  EXPECT_TRUE(harness.unit().wrong.empty()) << harness.unit().wrong.front();
  EXPECT_TRUE(harness.host().wrong.empty());
  EXPECT_EQ(harness.unit().taken, 3000U);
  EXPECT_EQ(harness.unit().gaps, 0U);
  EXPECT_EQ(harness.host().completed, 3000U);
  EXPECT_GT(harness.unit().count("msg.rx.send_data"), 1000U);
  EXPECT_GT(harness.unit().count("msg.rx.writes"), 1000U);
}
INSTANTIATE_TEST_SUITE_P(Loss, MixedFrames, ::testing::Values(0U, 2U, 6U));

TEST(ChannelThreshold, S001_06_while_the_peers_receive_queue_is_full_sends_wait_and_none_is_lost) {
  ChannelFixture harness({.host = kHost});
  ASSERT_TRUE(harness.connect());
  harness.run_for(10ms);
  harness.unit().polls = false;
  for (int n = 0; n < 300; ++n) harness.host().queue(100);
  harness.run_for(50ms);
  // 64 receives are posted and taken; the rest waits here.
  EXPECT_EQ(harness.unit().taken, 0U);
  EXPECT_EQ(harness.host().completed, 64U);
  EXPECT_EQ(harness.host().queued(), 300U - 64U - harness.host().pair->pushes_in_flight());
  harness.unit().polls = true;
  ASSERT_TRUE(harness.deliver());
  EXPECT_EQ(harness.unit().taken, 300U);
  EXPECT_EQ(harness.unit().gaps, 0U);
  EXPECT_EQ(harness.unit().count("msg.drop.no_slot"), 0U);
}

TEST(ChannelThreshold, frames_leave_the_last_8_send_slots_to_updates) {
  ChannelFixture harness({.host = kHost});
  ASSERT_TRUE(harness.connect());
  for (int n = 0; n < 600; ++n) harness.unit().queue(1500);
  harness.host().holds = true;
  harness.run_for(10ms);
  harness.unit().polls = false;
  harness.unit().faults.set_cut(true);
  for (int n = 0; n < 100; ++n) harness.host().queue(100);
  harness.run_for(1ms);
  EXPECT_EQ(harness.host().pair->pushes_in_flight(), 24U);
  const std::uint64_t before = harness.host().count("msg.tx.control");
  harness.host().release_held();
  harness.run_for(1ms);
  EXPECT_GT(harness.host().count("msg.tx.control"), before);  // an Update found a slot
  harness.unit().faults.set_cut(false);
  harness.unit().polls = true;
  harness.host().holds = false;
  EXPECT_TRUE(harness.deliver());
}

TEST(ChannelThreshold, a_frame_that_finds_no_slot_is_dropped_and_counted) {
  ChannelFixture harness({.host = kHost});
  ASSERT_TRUE(harness.connect());
  harness.unit().holds = true;
  for (int n = 0; n < 100; ++n) harness.host().queue(100);
  ASSERT_TRUE(harness.run_until([&] { return harness.host().completed == 100; }, 5s));
  harness.run_for(10ms);
  EXPECT_EQ(harness.unit().held.size(), 64U);
  EXPECT_EQ(harness.unit().count("msg.drop.no_slot"), 36U);
  // Channel 0 continues, and held frames do not change.
  ASSERT_TRUE(harness.request_echo());
  ASSERT_TRUE(harness.run_until([&] { return harness.echo_replies == 1; }, 400ms));
  EXPECT_TRUE(harness.unit().wrong.empty());
  harness.unit().release_held();
  harness.unit().holds = false;
  for (int n = 0; n < 100; ++n) harness.host().queue(100);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().taken == 164; }, 5s));
}

}  // namespace
}  // namespace splitnic::messaging::channel_threshold_test
