// Announcements of credits that are lost, repeated, late or wrong.
// docs/protocol/flit.md#full-profile
#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "full_wire.h"

namespace splitnic::fabric::credit_faults_test {

using namespace full_wire;

// Lane 0 of b has no block left, and a has cells for it.
struct Blocked : Wire {
  explicit Blocked(const FullLinkConfig& config = {}) : Wire(config) {
    b_sink.holds = 1;
    for (unsigned i = 0; i < kPosted; ++i) EXPECT_TRUE(a.post(0, pattern(128, i)));
    pump();
    EXPECT_EQ(b_sink.count(0), kGranted);
  }
  static constexpr unsigned kPosted = 200;
  static constexpr unsigned kGranted = 128;  // of 256 blocks
};

// A limit is absolute, so the next announcement makes up for those that were lost.
TEST(CreditFaultsTest, L_34_lost_updates_are_made_up_within_two_intervals) {
  Blocked w;
  w.mute = &w.b;
  w.b_sink.release_all();
  w.run(15ms);
  EXPECT_EQ(w.b_sink.count(0), Blocked::kGranted) << "its update was lost";
  w.mute = nullptr;
  w.run(2 * FullLinkConfig().idle);
  EXPECT_EQ(w.b_sink.count(0), Blocked::kPosted);
  EXPECT_EQ(w.count(w.b, FullLinkCounter::kRxDropBuffer), 0U);
  EXPECT_TRUE(w.a.up() && w.b.up());
}

// Everything that b sends comes three times at once, and again later in another order: a
// never sends more than the buffer of b holds, and everything it has.
struct Repeating : Wire {
  explicit Repeating(std::uint64_t seed) : random(seed) {
    repeats = 2;
    b_sink.holds = 3;  // lanes 0 and 1
    observe = [this](const FullLink& from, const std::vector<std::byte>& datagram) {
      if (&from == &b) late.push_back(datagram);
    };
  }
  void post_all() {
    while (posted < kCells && a.post(static_cast<std::uint8_t>(posted % 3), pattern(100, posted)))
      ++posted;
  }
  // Each release makes its own limit, with the acknowledge number as before.
  void release_some() {
    for (std::size_t left = random.below(b_sink.held.size() + 1); left > 0; --left) {
      const auto [vl, blocks] = b_sink.held.back();
      b_sink.held.pop_back();
      b.release(vl, blocks);
      carry(b, a);
    }
    while (late.size() > 3) {
      const auto at = static_cast<std::ptrdiff_t>(random.below(late.size()));
      give(a, late[static_cast<std::size_t>(at)]);
      late.erase(late.begin() + at);
    }
  }
  static constexpr unsigned kCells = 3000;

  base::SeededRandom random;
  std::deque<std::vector<std::byte>> late;
  unsigned posted = 0;
};

TEST(CreditFaultsTest, L_34_repeated_and_late_updates_grant_nothing_twice) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Repeating w(seed);
    for (int i = 0; i < 300; ++i) {
      w.post_all();
      w.run(1ms);
      w.release_some();
    }
    w.b_sink.release_all();
    w.run(50ms);
    EXPECT_EQ(w.posted, Repeating::kCells) << seed;
    ASSERT_EQ(w.b_sink.got.size(), w.posted) << seed;
    std::array<unsigned, 3> next{0, 1, 2};
    for (const auto& got : w.b_sink.got) {
      ASSERT_EQ(got.cell, pattern(100, next[got.vl])) << seed;
      next[got.vl] += 3;
    }
    EXPECT_EQ(w.count(w.b, FullLinkCounter::kRxDropBuffer), 0U) << seed;
    EXPECT_GT(w.count(w.a, FullLinkCounter::kRxDropCredit), 100U) << "old limits came";
  }
}

// One less than the limit, one behind half of the numbers, the number before zero: all are behind.
TEST(CreditFaultsTest, L_34_limits_out_of_range_are_counted_and_change_nothing) {
  Blocked w;
  std::uint64_t dropped = 0;
  for (const std::uint32_t limit : {255U, 0U, 256 + kCreditHalf, kCreditMask, 200U}) {
    FlitHeader header;
    header.type = FlitType::kLack;
    header.ack = Lsn(Blocked::kGranted);
    header.credit_limit = limit;
    std::vector<std::byte> flit(kFlitHeaderBytes);
    emit_flit(flit, header, {});
    w.give(w.a, flit);
    EXPECT_EQ(w.count(w.a, FullLinkCounter::kRxDropCredit), ++dropped) << limit;
    w.run(1ms);
    EXPECT_EQ(w.b_sink.count(0), Blocked::kGranted) << limit;
  }
  w.b_sink.release_all();
  w.run(2 * FullLinkConfig().idle);
  EXPECT_EQ(w.b_sink.count(0), Blocked::kPosted);
}

// Returns the cells of lane 1 that cross with 200 datagrams.
std::size_t rate_of_lane_1(bool is_lane_0_blocked) {
  Wire w;
  w.b_sink.holds = is_lane_0_blocked ? 1 : 0;
  unsigned posted = 0;
  for (int i = 0; i < 200; ++i) {
    if (is_lane_0_blocked) static_cast<void>(w.a.post(0, pattern(128, 0)));
    while (w.a.post(1, pattern(128, posted))) ++posted;
    w.carry(w.a, w.b);
    w.carry(w.b, w.a);
    w.clock.advance(10us);
  }
  return w.b_sink.count(1);
}

// 128 cells of lane 0 cross before it is blocked, one per datagram; behind them the rate counts.
TEST(CreditFaultsTest, L_34_other_lanes_keep_their_rate_next_to_one_that_is_blocked) {
  const std::size_t alone = rate_of_lane_1(false);
  const std::size_t with_blocked = rate_of_lane_1(true) + Blocked::kGranted;
  EXPECT_GT(alone, 1500U);
  EXPECT_GE(10 * with_blocked, 9 * alone) << with_blocked << " of " << alone;
}

}  // namespace splitnic::fabric::credit_faults_test
