#include "fabric_emul/transport/path_choice.h"

#include <gtest/gtest.h>

#include <vector>

namespace splitnic::fabric::testing::path_choice_test {

using namespace std::chrono_literals;

constexpr base::Time at(int ms) { return base::Time{} + std::chrono::milliseconds(ms); }

struct Choice {
  // The path of the next quantum.
  unsigned next(unsigned paths, int ms = 0) {
    choice.set_count(paths);
    choice.begin_quantum(in_flight, health, at(ms));
    return choice.path();
  }
  bool is_over(int ms = 0) const { return choice.is_quantum_used(health, at(ms)); }
  PathChoice choice;
  PathHealth health;
  std::array<std::uint64_t, kUsedPathsMax> in_flight{};
};

TEST(PathChoiceTest, a_quantum_is_used_after_its_cells) {
  Choice c;
  c.choice.set_count(2);
  EXPECT_TRUE(c.is_over());
  c.next(2);
  EXPECT_EQ(c.choice.left(), PathChoice::kQuantumCells);
  c.choice.on_sent(PathChoice::kQuantumCells - 1);
  EXPECT_FALSE(c.is_over());
  c.choice.on_sent(5);
  EXPECT_TRUE(c.is_over());
}

TEST(PathChoiceTest, one_path_is_the_first_whatever_was_before) {
  Choice c;
  EXPECT_EQ(c.next(1), 0U);
  EXPECT_GT(c.choice.left(), PathChoice::kQuantumCells);
  for (unsigned i = 0; i < 3; ++i) c.next(4);
  EXPECT_EQ(c.next(1), 0U);
  EXPECT_EQ(c.next(0), 0U);
  c.choice.on_sent(100'000);
  c.health.on_silent(1, at(0));
  EXPECT_FALSE(c.is_over()) << "there is no other";
}

TEST(PathChoiceTest, S000_46_another_number_of_paths_counts_at_once) {
  Choice c;
  c.next(1);
  c.choice.set_count(4);
  EXPECT_TRUE(c.is_over());
  for (unsigned i = 0; i < 3; ++i) c.next(4);
  EXPECT_EQ(c.choice.path(), 3U);
  c.choice.set_count(2);
  EXPECT_LT(c.choice.path(), 2U);
  EXPECT_TRUE(c.is_over());
  c.next(2);
  c.choice.on_sent(3);
  c.choice.set_count(2);
  EXPECT_EQ(c.choice.left(), PathChoice::kQuantumCells - 3);
}

TEST(PathChoiceTest, S000_47_a_lost_cell_takes_another_path_that_carries_cells) {
  Choice c;
  c.choice.set_count(3);
  c.in_flight = {900, 500, 700};
  const auto elsewhere = [&](unsigned lost_by) {
    c.choice.begin_quantum_elsewhere(lost_by, c.in_flight, c.health, at(10));
    return c.choice.path();
  };
  EXPECT_EQ(elsewhere(0), 1U);
  EXPECT_EQ(elsewhere(1), 2U) << "although that has more in flight";
  c.health.on_silent(1 << 2, at(10));
  EXPECT_EQ(elsewhere(1), 0U);
  c.health.on_silent(1 << 0, at(10));
  EXPECT_EQ(elsewhere(1), 1U) << "no other carries cells";
  c.health.on_silent(1 << 1, at(10));
  EXPECT_NE(elsewhere(1), 1U);
}

TEST(PathChoiceTest, S000_46_paths_with_nothing_in_flight_alternate) {
  Choice c;
  std::vector<unsigned> taken;
  for (unsigned i = 0; i < 8; ++i) taken.push_back(c.next(4));
  EXPECT_EQ(taken, (std::vector<unsigned>{1, 2, 3, 0, 1, 2, 3, 0}));
  for (unsigned i = 0; i < 2 * kUsedPathsMax; ++i) EXPECT_LT(c.next(128), kUsedPathsMax);
}

TEST(PathChoiceTest, S000_46_a_path_with_less_in_flight_comes_first) {
  Choice c;
  c.in_flight = {500, 300, 200, 400};
  EXPECT_EQ(c.next(4), 2U);
  EXPECT_EQ(c.next(4), 2U);
  c.in_flight[2] = 600;
  EXPECT_EQ(c.next(4), 1U);
}

TEST(PathChoiceTest, S000_47_a_silent_path_is_avoided_twice_as_long_each_time) {
  Choice c;
  c.choice.set_count(2);
  c.in_flight = {0, 900};
  int ms = 1000;
  for (const int avoided : {50, 100, 200, 400, 800, 800}) {
    EXPECT_EQ(c.next(2, ms), 0U);
    c.health.on_silent(1, at(ms));
    EXPECT_TRUE(c.is_over(ms)) << "its quantum ends";
    c.health.on_silent(1, at(ms + 1));  // the same silence
    EXPECT_EQ(c.next(2, ms + avoided - 1), 1U) << avoided;
    ms += avoided;
  }
  EXPECT_EQ(c.next(2, ms), 0U);
  c.health.on_arrived(1);
  c.health.on_silent(1, at(ms));
  EXPECT_EQ(c.next(2, ms + 49), 1U);
  EXPECT_EQ(c.next(2, ms + 50), 0U) << "what arrived ends the doubling";
}

TEST(PathChoiceTest, all_are_used_when_all_are_silent) {
  Choice c;
  c.health.on_silent(3, at(5));
  std::vector<unsigned> taken;
  for (unsigned i = 0; i < 4; ++i) taken.push_back(c.next(2, 6));
  EXPECT_EQ(taken, (std::vector<unsigned>{1, 0, 1, 0}));
}

TEST(PathChoiceTest, S000_47_of_silent_paths_the_one_that_was_reported_first_is_used) {
  Choice c;
  c.health.on_silent(1, at(0));
  c.health.on_silent(2, at(5));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(c.next(2, 6), 0U);
  c.health.on_silent(1, at(7));  // it is
  for (int i = 0; i < 3; ++i) EXPECT_EQ(c.next(2, 8), 1U);
}

}  // namespace splitnic::fabric::testing::path_choice_test
