#include <gtest/gtest.h>

#include "tests/sim/push_pull/models.h"

namespace splitnic::sim::push_pull_test {

using namespace std::chrono_literals;
using fabric::Op;

constexpr std::size_t kFrames = 8 * kBuffers;

TEST(PushPullTest, S001_04_S001_53_push_costs_one_packet_per_frame_and_no_read) {
  Push push({.frame_bytes = 1500, .delay = 50us});
  const Sustained s = push.sustain(kFrames, kFrames);
  EXPECT_EQ(s.by_sender.all_packets(), s.by_sender.of(Op::kRdmaWrite));
  EXPECT_NEAR(static_cast<double>(s.by_sender.all_packets()), static_cast<double>(s.frames),
              kBuffers);
  EXPECT_EQ(s.by_receiver.all_packets(), s.by_receiver.of(Op::kSend));  // Updates
  EXPECT_NEAR(static_cast<double>(s.by_receiver.all_packets() * kReturnBatch),
              static_cast<double>(s.frames), kBuffers);
}

TEST(PushPullTest, S001_53_pull_costs_an_announcement_a_request_and_a_response_per_frame) {
  Pull pull({.frame_bytes = 1500, .delay = 50us});
  const Sustained s = pull.sustain(kFrames, kFrames);
  const auto frames = static_cast<double>(s.frames);
  EXPECT_NEAR(static_cast<double>(s.by_sender.of(Op::kSend)), frames, kBuffers);
  EXPECT_NEAR(static_cast<double>(s.by_sender.of(Op::kRdmaReadResp)), frames, kBuffers);
  EXPECT_NEAR(static_cast<double>(s.by_receiver.of(Op::kRdmaReadReq)), frames, kBuffers);
  EXPECT_NEAR(static_cast<double>(s.by_receiver.of(Op::kSend) * kReturnBatch), frames, kBuffers);
  EXPECT_EQ(s.by_sender.of(Op::kRdmaWrite), 0U);
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
  const Sustained pushed = Push(config).sustain(kFrames, kFrames);
  const Sustained pulled = Pull(config).sustain(kFrames, kFrames);
  EXPECT_LE(pushed.took, 2ms * (pushed.frames / kBuffers) * 11 / 10);
  EXPECT_GE(pulled.took, 4ms * (pulled.frames / kBuffers) * 9 / 10);
  EXPECT_LE(pulled.took, 4ms * (pulled.frames / kBuffers) * 11 / 10);
}

// What is compared is the protocol: nothing is lost or retransmitted.
TEST(PushPullTest, nothing_is_retransmitted) {
  for (const std::size_t bytes : {std::size_t{64}, kBufferBytes}) {
    const TransferConfig config{.frame_bytes = bytes, .delay = 1ms};
    for (const Sustained& s :
         {Push(config).sustain(kFrames, kFrames), Pull(config).sustain(kFrames, kFrames)}) {
      EXPECT_EQ(s.by_sender.retransmitted, 0U) << bytes;
      EXPECT_EQ(s.by_receiver.retransmitted, 0U) << bytes;
    }
  }
}

}  // namespace splitnic::sim::push_pull_test
