#include "tests/sim/loss/loss_run.h"

#include <gtest/gtest.h>

#include <vector>

namespace splitnic::sim::loss_run_test {

using namespace std::chrono_literals;

constexpr std::size_t kMessages = 256;

PathConfig wide(std::uint32_t loss_ppm, base::Duration delay) {
  PathConfig path;
  path.loss_ppm = loss_ppm;
  path.delay = delay;
  path.buffer_bytes = 4 << 20;
  return path;
}

// The repair of one cell takes two round trips; sending continues meanwhile.
TEST(LossRunTest, S000_15_repair_does_not_halt_sending) {
  for (const base::Duration delay : {25us, 200us, 2000us}) {
    const std::uint64_t whole = run_loss(wide(0, delay), 1, kMessages).goodput_permille;
    const std::uint64_t some = run_loss(wide(1'000, delay), 1, kMessages).goodput_permille;
    const std::uint64_t more = run_loss(wide(10'000, delay), 1, kMessages).goodput_permille;
    EXPECT_GE(some * 100, whole * 95) << delay.count();
    EXPECT_GE(more * 100, whole * 80) << delay.count();
  }
}

TEST(LossRunTest, S000_15_what_was_lost_is_retransmitted_and_nothing_else) {
  const LossFigures f = run_loss(wide(50'000, 25us), 1, kMessages);
  EXPECT_LE(f.again_permille, 60U);
  EXPECT_GE(f.again_permille, 40U);
  EXPECT_EQ(f.timeouts, 0U);
}

struct Path {
  Path() {
    there.join(back);
    back.join(there);
  }
  // Returns how many of `datagrams` arrive, and in `batches` in how many batches.
  std::size_t send(std::size_t datagrams, std::size_t& batches) {
    const std::vector<std::byte> bytes(datagrams * Bottleneck::kDatagramBytes);
    std::size_t arrived = 0;
    const std::size_t most = there.batch_bytes_max() / Bottleneck::kDatagramBytes;
    for (std::size_t at = 0; at < datagrams; at += most) {
      const std::size_t count = std::min(most, datagrams - at);
      there.send(back.address(), base::Bytes(bytes).first(count * Bottleneck::kDatagramBytes),
                 Bottleneck::kDatagramBytes);
    }
    clock.advance(1s);
    while (const auto batch = back.receive()) {
      ++batches;
      arrived += batch->bytes.size() / batch->stride;
    }
    return arrived;
  }
  base::ManualClock clock;
  base::SeededRandom random{1};
  Bottleneck there{1, clock, random};
  Bottleneck back{2, clock, random};
};

TEST(BottleneckTest, what_does_not_fit_the_buffer_is_lost) {
  Path p;
  PathConfig path;
  path.buffer_bytes = 64 << 10;
  p.there.set_config(path);
  std::size_t batches = 0;
  EXPECT_EQ(p.send(1000, batches), (64U << 10) / Bottleneck::kDatagramBytes);
  EXPECT_EQ(p.there.dropped(), 1000 - (64U << 10) / Bottleneck::kDatagramBytes);
}

TEST(BottleneckTest, it_arrives_by_the_rate_of_the_line_and_the_delay) {
  Path p;
  PathConfig path;
  path.delay = 100us;
  path.bytes_a_second = 1'472'000'000;  // a datagram a microsecond
  p.there.set_config(path);
  const std::vector<std::byte> bytes(2 * Bottleneck::kDatagramBytes);
  p.there.send(p.back.address(), bytes, Bottleneck::kDatagramBytes);
  EXPECT_EQ(p.back.deadline(), p.clock.now() + 101us);
  p.clock.advance(101us - 1ns);
  EXPECT_FALSE(p.back.receive());
  p.clock.advance(1ns);
  EXPECT_EQ(p.back.receive()->bytes.size(), Bottleneck::kDatagramBytes);
  EXPECT_FALSE(p.back.receive());
  p.clock.advance(1us);
  EXPECT_TRUE(p.back.receive());
}

TEST(BottleneckTest, batches_are_lost_as_a_whole_or_one_datagram_at_a_time) {
  for (const bool whole : {false, true}) {
    Path p;
    PathConfig path;
    path.loss_ppm = 500'000;
    path.loses_batches = whole;
    path.buffer_bytes = 1 << 30;
    p.there.set_config(path);
    std::size_t batches = 0;
    const std::size_t arrived = p.send(10 * 44, batches);
    EXPECT_GT(arrived, 0U);
    EXPECT_LT(arrived, 10U * 44);
    EXPECT_EQ(arrived % 44 == 0, whole);
  }
}

}  // namespace splitnic::sim::loss_run_test
