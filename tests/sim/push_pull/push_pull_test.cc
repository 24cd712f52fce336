#include <gtest/gtest.h>

#include "tests/sim/push_pull/models.h"

namespace splitnic::sim::push_pull_test {

using namespace std::chrono_literals;
using fabric::Op;

constexpr std::size_t kFrames = 8 * kBuffers;

TEST(PushPullTest, S001_04_S001_53_push_costs_one_packet_per_frame_and_no_read) {
  const Sustained s = Push({.frame_bytes = 1500, .delay = 50us}).sustain(0, kFrames);
  EXPECT_EQ(s.frames, kFrames);
  EXPECT_EQ(s.by_sender.of(Op::kRdmaWrite), kFrames);
  EXPECT_EQ(s.by_sender.all_packets(), kFrames);
  EXPECT_EQ(s.by_receiver.of(Op::kSend), kFrames / kReturnBatch);  // Updates
  EXPECT_EQ(s.by_receiver.all_packets(), kFrames / kReturnBatch);
}

TEST(PushPullTest, S001_53_pull_costs_an_announcement_a_request_and_a_response_per_frame) {
  const Sustained s = Pull({.frame_bytes = 1500, .delay = 50us}).sustain(0, kFrames);
  EXPECT_EQ(s.by_sender.of(Op::kSend), kFrames);
  EXPECT_EQ(s.by_sender.of(Op::kRdmaReadResp), kFrames);
  EXPECT_EQ(s.by_sender.all_packets(), 2 * kFrames);
  EXPECT_EQ(s.by_receiver.of(Op::kRdmaReadReq), kFrames);
  EXPECT_EQ(s.by_receiver.of(Op::kSend), kFrames / kReturnBatch);
  EXPECT_EQ(s.by_receiver.all_packets(), kFrames + kFrames / kReturnBatch);
}

TEST(PushPullTest, S001_53_a_lone_frame_takes_one_path_delay_pushed_and_three_pulled) {
  for (const base::Duration delay : {50us, 1000us, 10'000us}) {
    const TransferConfig config{.frame_bytes = 64, .delay = delay};
    const base::Duration pushed = Push(config).lone_frame();
    const base::Duration pulled = Pull(config).lone_frame();
    EXPECT_GE(pushed, delay);
    EXPECT_LE(pushed, delay + 3us);
    EXPECT_GE(pulled, 3 * delay);
    EXPECT_LE(pulled, 3 * delay + 9us);
  }
}

// A pushed buffer is occupied for one round trip, a pulled one for two.
TEST(PushPullTest, S001_53_buffers_limit_pull_to_half_the_frames) {
  const TransferConfig config{.frame_bytes = 64, .delay = 1ms};
  Push push(config);
  Pull pull(config);
  const auto round_trips = [](Transfer& model) {
    model.sustain(0, kFrames);
    const Sustained s = model.sustain(kBuffers, kFrames);
    return s.took * static_cast<double>(kBuffers) / (2ms * static_cast<double>(s.timed_frames));
  };
  EXPECT_NEAR(round_trips(push), 1, 0.02);
  EXPECT_NEAR(round_trips(pull), 2, 0.02);
}

// Only the protocols are compared: nothing is lost or retransmitted. On the long path that holds
// from the first round trip that was measured on.
TEST(PushPullTest, S000_15_S001_53_nothing_is_retransmitted) {
  for (const base::Duration delay : {1000us, 10'000us}) {
    for (const std::size_t bytes : {std::size_t{1500}, kBufferBytes}) {
      const TransferConfig config{.frame_bytes = bytes, .delay = delay};
      Push push(config);
      Pull pull(config);
      for (Transfer* model : std::initializer_list<Transfer*>{&push, &pull}) {
        model->sustain(0, kFrames);
        const Sustained s = model->sustain(0, kFrames);
        EXPECT_EQ(s.by_sender.retransmitted, 0U) << bytes << " " << delay.count();
        EXPECT_EQ(s.by_receiver.retransmitted, 0U) << bytes << " " << delay.count();
      }
    }
  }
}

}  // namespace splitnic::sim::push_pull_test
