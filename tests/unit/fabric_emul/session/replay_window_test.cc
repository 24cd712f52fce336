// The replay window against a set of all counters that arrived, and its edges.
#include "fabric_emul/session/replay_window.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/replay_model.h"

namespace splitnic::fabric::session {
namespace {

using Verdict = ReplayWindow::Verdict;

TEST(ReplayWindowTest, S_55_each_counter_is_accepted_once_in_any_order) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    base::SeededRandom random(seed);
    ReplayWindow window;
    support::ReplayModel model;
    std::uint64_t base = seed % 4 == 0 ? ReplayWindow::kCounterEnd - 30'000 : 0;
    for (int step = 0; step < 4000; ++step) {
      const std::uint64_t kind = random.below(10);
      if (kind < 6) base += random.below(8);
      if (kind == 6) base += random.below(700);
      if (kind == 7 && random.below(20) == 0) base += random.below(3 * ReplayWindow::kBits);
      const std::uint64_t back = random.below(kind == 8 ? 12'000 : 300);
      const std::uint64_t counter = base < back ? 0 : base - back;
      ASSERT_EQ(window.accept(counter), model.accept(counter)) << seed << " " << counter;
    }
  }
}

TEST(ReplayWindowTest, S_55_edges_of_the_window) {
  ReplayWindow window;
  EXPECT_EQ(window.accept(0), Verdict::kHighest);
  EXPECT_EQ(window.accept(0), Verdict::kRefused);
  EXPECT_EQ(window.accept(1), Verdict::kHighest);
  EXPECT_EQ(window.accept(9), Verdict::kHighest);
  EXPECT_EQ(window.accept(8), Verdict::kNew);
  EXPECT_EQ(window.accept(7), Verdict::kNew);
  EXPECT_EQ(window.accept(7), Verdict::kRefused);
  EXPECT_EQ(window.accept(ReplayWindow::kBits), Verdict::kHighest);
  EXPECT_EQ(window.accept(64), Verdict::kNew);  // kSpan behind
  EXPECT_EQ(window.accept(63), Verdict::kRefused);
  EXPECT_EQ(window.accept(ReplayWindow::kBits - 1), Verdict::kNew);
  EXPECT_EQ(window.accept(ReplayWindow::kBits * 5), Verdict::kHighest);
  EXPECT_EQ(window.accept(ReplayWindow::kBits - 2), Verdict::kRefused);
}

TEST(ReplayWindowTest, S_55_a_whole_window_forwards_and_backwards) {
  ReplayWindow up;
  for (std::uint64_t i = 1; i <= ReplayWindow::kSpan; ++i)
    ASSERT_EQ(up.accept(i), Verdict::kHighest);
  EXPECT_EQ(up.accept(0), Verdict::kNew);
  EXPECT_EQ(up.accept(0), Verdict::kRefused);
  ReplayWindow down;
  ASSERT_EQ(down.accept(ReplayWindow::kSpan + 1), Verdict::kHighest);
  for (std::uint64_t i = ReplayWindow::kSpan; i >= 1; --i) ASSERT_EQ(down.accept(i), Verdict::kNew);
  EXPECT_EQ(down.accept(0), Verdict::kRefused);
}

TEST(ReplayWindowTest, R_64_counters_end_before_they_wrap) {
  ReplayWindow window;
  EXPECT_EQ(window.accept(ReplayWindow::kCounterEnd - 1), Verdict::kHighest);
  EXPECT_EQ(window.accept(ReplayWindow::kCounterEnd), Verdict::kRefused);
  EXPECT_EQ(window.accept(~std::uint64_t{0}), Verdict::kRefused);
  EXPECT_EQ(window.accept(ReplayWindow::kCounterEnd - 2), Verdict::kNew);
}

}  // namespace
}  // namespace splitnic::fabric::session
