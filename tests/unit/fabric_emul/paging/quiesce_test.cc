// The current-I/O word.
#include "fabric_emul/paging/quiesce.h"

#include <gtest/gtest.h>

#include <thread>

namespace splitnic::fabric {
namespace quiesce_test {

TEST(QuiesceTest, X_22_no_io_begins_once_the_bit_is_set) {
  std::atomic<std::uint32_t> word{0};
  CurrentIo io(word);
  EXPECT_TRUE(io.begin());
  EXPECT_FALSE(io.quiesce());
  EXPECT_EQ(word, 0x80000001U);
  EXPECT_FALSE(io.begin());
  EXPECT_EQ(word, 0x80000001U) << "refused: nothing has changed";
  EXPECT_TRUE(io.end());
  EXPECT_EQ(word, 0x80000000U);
  EXPECT_TRUE(io.is_quiescent());
  io.reset();
  EXPECT_EQ(word, 0U);
  EXPECT_TRUE(io.begin());
}

TEST(QuiesceTest, S004_13_only_the_last_io_of_a_quiesce_reports) {
  std::atomic<std::uint32_t> word{0};
  CurrentIo io(word);
  EXPECT_TRUE(io.quiesce()) << "nothing outstanding: at once";
  io.reset();
  ASSERT_TRUE(io.begin(2));
  EXPECT_FALSE(io.end()) << "no quiesce";
  ASSERT_TRUE(io.begin(2));
  EXPECT_FALSE(io.quiesce());
  EXPECT_FALSE(io.end());
  EXPECT_FALSE(io.end());
  EXPECT_TRUE(io.end());
  EXPECT_EQ(io.count(), 0U);
}

TEST(QuiesceTest, S004_11_a_command_with_one_read_and_one_response_counts_three) {
  std::atomic<std::uint32_t> word{0};
  CurrentIo io(word);
  constexpr IoCount kCommand{.channel = 2, .memory = 1};
  static_assert(kCommand.total() == 3);
  ASSERT_TRUE(io.begin(kCommand.total()));
  for (const std::uint32_t left : {2U, 1U, 0U}) {
    EXPECT_FALSE(io.end());
    EXPECT_EQ(io.count(), left);
  }
}

TEST(QuiesceTest, the_count_does_not_run_into_the_bit) {
  std::atomic<std::uint32_t> word{CurrentIo::kCountMax - 1};
  CurrentIo io(word);
  EXPECT_FALSE(io.begin(2));
  EXPECT_TRUE(io.begin());
  EXPECT_FALSE(io.begin());
  EXPECT_FALSE(io.is_quiescing());
}

TEST(QuiesceDeathTest, an_io_that_never_began_cannot_end) {
  std::atomic<std::uint32_t> word{0};
  EXPECT_DEATH(CurrentIo(word).end(), "kCountMax");
}

TEST(QuiesceTest, S004_10_two_threads_count_and_a_third_quiesces_and_nothing_is_lost) {
  constexpr std::uint64_t kWaits = 300;  // quiesces that find I/O
  constexpr std::uint64_t kRoundsMax = 20'000;
  std::atomic<std::uint32_t> word{0};
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> reports{0};
  std::atomic<bool> is_over{false};
  const auto consumer = [&] {
    CurrentIo io(word);
    while (!is_over) {
      if (!io.begin()) {
        std::this_thread::yield();
        continue;
      }
      ++begun;
      if (io.end()) ++reports;
    }
  };
  std::thread one(consumer);
  std::thread two(consumer);
  CurrentIo io(word);
  std::uint64_t waited = 0;
  std::uint64_t seen_wrong = 0;
  for (std::uint64_t round = 0; round < kRoundsMax && waited < kWaits; ++round) {
    for (const std::uint64_t before = begun; begun == before;) std::this_thread::yield();
    if (!io.quiesce()) {
      ++waited;
      while (reports < waited) std::this_thread::yield();
    }
    if (word != CurrentIo::kQuiesce) ++seen_wrong;
    io.reset();
  }
  is_over = true;
  one.join();
  two.join();
  EXPECT_EQ(waited, kWaits);
  EXPECT_EQ(reports, waited) << "one report for each quiesce that found I/O";
  EXPECT_EQ(seen_wrong, 0U) << "a quiescent region had I/O";
  EXPECT_EQ(word, 0U);
}

}  // namespace quiesce_test
}  // namespace splitnic::fabric
