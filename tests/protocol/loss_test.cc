// RC over a path that loses, doubles, swaps, delays and changes datagrams: each packet arrives
// exactly once, in order and unchanged, and nothing is retransmitted without need.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/stream.h"

namespace splitnic::fabric::testing::loss_test {

using namespace std::chrono_literals;

void expect_both_ways(AdapterPair& pair, const QpInit& init, const Stream::Config& config,
                      base::Duration limit = 60s) {
  const QpPair qp = pair.connect(init);
  stream_both_ways(pair, qp, config, limit);
  EXPECT_LE(pair.idle_steps_with_past_deadline, 10);
}

struct Case {
  std::string name;
  FaultConfig faults;
  bool selective_repeat = true;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

class FaultyPath : public ::testing::TestWithParam<Case> {};

TEST_P(FaultyPath, S000_15_every_packet_arrives_once_in_order) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    PairOptions options;
    options.seed = seed;
    AdapterPair pair(options);
    pair.a().faults.set_config(GetParam().faults);
    pair.b().faults.set_config(GetParam().faults);
    QpInit init;
    init.selective_repeat = GetParam().selective_repeat;
    expect_both_ways(pair, init, {.packets = 300});
  }
}

FaultConfig everything() {
  FaultConfig f;
  f.loss_ppm = 10'000;
  f.corrupt_ppm = 10'000;
  f.duplicate_ppm = 10'000;
  f.reorder_ppm = 10'000;
  f.truncate_ppm = 2'000;
  f.jitter = 100us;
  return f;
}

INSTANTIATE_TEST_SUITE_P(All, FaultyPath,
                         ::testing::Values(Case{"clean", {}}, Case{"loss_1", {.loss_ppm = 10'000}},
                                           Case{"corruption_1", {.corrupt_ppm = 10'000}},
                                           Case{"duplication_5", {.duplicate_ppm = 50'000}},
                                           Case{"reordering_5", {.reorder_ppm = 50'000}},
                                           Case{"everything", everything()},
                                           Case{"loss_1_go_back_n", {.loss_ppm = 10'000}, false},
                                           Case{"everything_go_back_n", everything(), false}),
                         [](const auto& test) { return test.param.name; });

// The parameter is the share of datagrams that are lost, per million; they are lost three in a row.
class Loss : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Loss, L_27_bursts_of_three_both_ways) {
  PairOptions options;
  options.seed = GetParam();
  AdapterPair pair(options);
  FaultConfig faults;
  faults.loss_burst = 3;
  // Of the datagrams that are looked at, which leaves out those in a burst.
  faults.loss_ppm = static_cast<std::uint32_t>(std::uint64_t{GetParam()} * 1'000'000 /
                                               (3'000'000 - 2 * std::uint64_t{GetParam()}));
  faults.delay = 50us;
  pair.a().faults.set_config(faults);
  pair.b().faults.set_config(faults);
  expect_both_ways(pair, QpInit{}, {.packets = 400}, 300s);
}

INSTANTIATE_TEST_SUITE_P(All, Loss,
                         ::testing::Values(1'000, 10'000, 20'000, 50'000, 200'000, 300'000));

TEST(LossTest, S000_15_receives_posted_late_lose_nothing) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Stream stream(pair.b(), qp.b, pair.a(), qp.a, {.packets = 200, .posts_receives = false});
  base::Time next = pair.now();
  EXPECT_TRUE(pair.run_until([&] {
    if (pair.now() >= next && stream.received() < 200) {
      for (int i = 0; i < 3; ++i) stream.post_receive();
      next = pair.now() + 1ms;
    }
    return stream.step();
  }));
  EXPECT_EQ(stream.failure, "");
  EXPECT_GT(pair.a().count(TransportCounter::kTxRnr), 0U);
}

// A packet of many cells, of which `lost` (counted from 0) are dropped the first time.
struct Holes {
  std::uint64_t retransmits = 0, timeouts = 0;
  base::Duration took{};
};
Holes write_with_holes(std::uint16_t mcp, std::size_t bytes, const std::function<bool(int)>& lost) {
  PairOptions options;
  options.mcp = mcp;
  AdapterPair pair(options);
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(bytes);
  Memory& from = pair.b().memory(bytes, 9);
  FaultConfig delay;
  delay.delay = 100us;
  pair.a().faults.set_config(delay);
  pair.b().faults.set_config(delay);
  int seen = 0;
  pair.a().faults.drop_received([&](base::Bytes) { return lost(seen++); });
  const base::Time start = pair.now();
  EXPECT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
  EXPECT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(to.bytes, from.bytes);
  return {pair.b().count(TransportCounter::kTxRetransmit),
          pair.b().count(TransportCounter::kTimeouts), pair.now() - start};
}

TEST(LossTest, L_28_one_hole_of_100_kilobytes_is_filled_once) {
  const int cells = 100'000 / 1364;
  const Holes holes =
      write_with_holes(0, 1 << 20, [&](int i) { return i >= 200 && i < 200 + cells; });
  EXPECT_GE(holes.retransmits, static_cast<std::uint64_t>(cells));
  EXPECT_LE(holes.retransmits, static_cast<std::uint64_t>(2 * cells));
}

TEST(LossTest, L_28_a_hundred_small_holes_are_filled_once) {
  const Holes holes = write_with_holes(128, 1 << 19, [](int i) { return i < 4000 && i % 40 == 7; });
  EXPECT_GE(holes.retransmits, 100U);
  EXPECT_LE(holes.retransmits, 200U);
}

// The last cells of all are lost, so nothing behind them shows it: one time-out, then all at once.
TEST(LossTest, L_28_a_lost_tail_costs_one_time_out) {
  const Holes holes = write_with_holes(0, 1364 * 150, [](int i) { return i >= 50 && i < 150; });
  EXPECT_LE(holes.timeouts, 2U);
  EXPECT_LE(holes.retransmits, 200U);
  EXPECT_LE(holes.took, 50ms);
}

TEST(LossTest, L_31_two_seconds_of_silence_end_no_queue_pair) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Stream stream(pair.b(), qp.b, pair.a(), qp.a, {.packets = 4000});
  const base::Time start = pair.now();
  bool cut = false;
  EXPECT_TRUE(pair.run_until([&] {
    const base::Duration at = pair.now() - start;
    if ((at > 200us && at < 2s + 200us) != cut) pair.a().faults.set_cut(cut = !cut);
    return stream.step();
  }));
  EXPECT_GT(pair.now() - start, 2s);
  EXPECT_EQ(stream.failure, "");
  EXPECT_LE(pair.now() - start, 4s);
}

}  // namespace splitnic::fabric::testing::loss_test
