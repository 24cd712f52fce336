#include "fabric_emul/transport/congestion.h"

#include <gtest/gtest.h>

namespace splitnic::fabric::congestion_test {

using namespace std::chrono_literals;

constexpr std::uint64_t kMax = 2 << 20;

// Whole windows, one per round trip, of which `lost` in a thousand cells are lost.
void run(Congestion& c, base::Time& now, int rounds, base::Duration rtt, unsigned lost = 0) {
  for (int i = 0; i < rounds; ++i) {
    now += rtt;
    const std::uint64_t cells = c.window() / 1436;
    c.on_loss(cells * lost / 1000);
    c.on_rtt_sample(rtt);
    c.on_ack(cells * 1436 * (1000 - lost) / 1000, cells * (1000 - lost) / 1000, now);
  }
}

TEST(CongestionTest, S000_15_the_window_grows_to_its_limit) {
  Congestion c(kMax);
  base::Time now{};
  EXPECT_EQ(c.window(), Congestion::kWindowStart);
  EXPECT_EQ(c.round_trip(), base::Duration{0});
  run(c, now, 10, 1ms);
  EXPECT_EQ(c.round_trip(), 1ms);
  EXPECT_EQ(c.window(), kMax);
  run(c, now, 100, 1ms);
  EXPECT_EQ(c.window(), kMax);
}

TEST(CongestionTest, S000_15_a_queue_on_the_path_shrinks_it) {
  Congestion c(kMax);
  base::Time now{};
  run(c, now, 10, 1ms);
  run(c, now, 3, 5ms);
  EXPECT_LE(c.window(), kMax);
  // Half a window a round arrives: the path carries no more.
  for (int i = 0; i < 40; ++i) {
    now += 5ms;
    c.on_rtt_sample(5ms);
    c.on_ack(100'000, 70, now);
  }
  EXPECT_LE(c.window(), 128U << 10);
  EXPECT_GE(c.window(), 100'000U) << "never below what a round delivered";
  run(c, now, 100, 1ms);
  EXPECT_EQ(c.window(), kMax) << "and back";
}

// One frame per round trip, as from interactive typing: each takes the window to what it delivers.
void run_idly(Congestion& c, base::Time& now, int rounds, base::Duration rtt) {
  for (int i = 0; i < rounds; ++i) {
    now += rtt;
    c.on_rtt_sample(rtt);
    c.on_ack(1436, 1, now);
  }
}

TEST(CongestionTest, S000_15_a_path_that_becomes_longer_is_not_a_queue_indefinitely) {
  for (const int idle : {0, 10, 50}) {
    Congestion c(kMax);
    base::Time now{};
    run(c, now, 50, 100us);
    run_idly(c, now, idle, 5ms);
    run(c, now, 400, 5ms);
    EXPECT_EQ(c.window(), kMax) << "after two seconds of bulk, behind " << idle << " idle rounds";
  }
}

// The path carries this much in a millisecond, and the rest waits in its buffer.
TEST(CongestionTest, S000_15_a_queue_of_ones_own_is_not_taken_for_the_path) {
  constexpr std::uint64_t kCarried = 100'000;
  Congestion c(kMax);
  base::Time now{};
  base::Duration queued{};
  std::uint64_t delivered = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t window = c.window();
    const base::Duration rtt = std::max<base::Duration>(1ms, 1ms * window / kCarried);
    now += rtt;
    c.on_rtt_sample(rtt);
    c.on_ack(window, window / 1436, now);
    if (i >= 1000) queued += rtt - 1ms;
    if (i >= 1000) delivered += window;
  }
  EXPECT_LT(queued / 19'000, 4ms) << "the mean queue stays near its target of 2 ms";
  EXPECT_GT(delivered, 19'000 * kCarried);
}

TEST(CongestionTest, S000_15_random_loss_of_one_percent_does_not) {
  Congestion c(kMax);
  base::Time now{};
  run(c, now, 100, 1ms, 10);
  EXPECT_EQ(c.window(), kMax);
}

TEST(CongestionTest, S000_15_a_steady_round_trip_is_no_time_out) {
  Congestion c(kMax);
  for (int i = 0; i < 1000; ++i) c.on_rtt_sample(40ms);
  EXPECT_GE(c.rto(), 50ms);
}

TEST(CongestionTest, S000_15_loss_of_thirty_percent_does) {
  Congestion c(kMax);
  base::Time now{};
  run(c, now, 10, 1ms);
  run(c, now, 60, 1ms, 300);
  EXPECT_LT(c.window(), kMax / 4);
  EXPECT_GE(c.window(), Congestion::kWindowMin);
}

TEST(CongestionTest, S000_15_the_time_out_follows_the_round_trip) {
  Congestion c(kMax);
  EXPECT_EQ(c.rto(), 20ms);
  for (int i = 0; i < 50; ++i) c.on_rtt_sample(100us);
  EXPECT_GE(c.rto(), 2ms) << "never less";
  EXPECT_LE(c.rto(), 2500us);
  for (int i = 0; i < 100; ++i) c.on_rtt_sample(40ms);
  EXPECT_GE(c.rto(), 40ms);
  EXPECT_LE(c.rto(), 80ms);
  for (int i = 0; i < 100; ++i) c.on_rtt_sample(2s);
  EXPECT_EQ(c.rto(), 500ms) << "never more";
}

TEST(CongestionTest, S000_15_time_outs_double_it_and_progress_ends_that) {
  Congestion c(kMax);
  for (int i = 0; i < 50; ++i) c.on_rtt_sample(100us);
  const base::Duration first = c.rto();
  base::Duration expected = first;
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(c.rto(), expected);
    c.on_timeout();
    expected = std::min<base::Duration>(expected * 2, 200ms);
  }
  EXPECT_EQ(c.window(), Congestion::kWindowMin);
  c.on_progress();
  EXPECT_EQ(c.rto(), first);
  c.fix_rto(7ms);
  c.on_timeout();
  EXPECT_EQ(c.rto(), 7ms);
}

// A round trip longer than the first time-out: what is in flight at a time-out gives no sample, so
// only a longer time-out does.
TEST(CongestionTest, S000_15_progress_does_not_end_the_doubling_before_the_first_sample) {
  Congestion c(kMax);
  c.on_timeout();
  c.on_progress();
  EXPECT_EQ(c.rto(), 40ms);
  c.on_rtt_sample(20ms);
  EXPECT_EQ(c.rto(), 120ms);
  c.on_progress();
  EXPECT_EQ(c.rto(), 60ms);
}

// S000-42: a cell that a link repeats four times, after 1, 2, 4 and 8 ms, is late and not lost.
TEST(CongestionTest, S000_42_links_that_repair_have_time_for_it) {
  Congestion c(kMax, true);
  Congestion plain(kMax);
  for (int i = 0; i < 50; ++i) {
    c.on_rtt_sample(100us);
    plain.on_rtt_sample(100us);
  }
  EXPECT_GT(c.rto(), 15ms);
  EXPECT_LT(c.rto(), 25ms);
  EXPECT_LT(plain.rto(), 5ms);
}

}  // namespace splitnic::fabric::congestion_test
