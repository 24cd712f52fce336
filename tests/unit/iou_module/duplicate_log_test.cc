#include "iou_module/duplicate_log.h"

#include <gtest/gtest.h>

namespace splitnic::iou {
namespace duplicate_log_test {

using namespace std::chrono_literals;
constexpr base::Time kStart{1000s};

// The number of lines of attempts every 200 ms, from `begin` on.
int lines(DuplicateLog& log, const void* who, base::Time begin, base::Duration span) {
  int count = 0;
  for (base::Duration t{}; t < span; t += 200ms) count += log.note(who, begin + t) ? 1 : 0;
  return count;
}

TEST(DuplicateLogTest, B_02_a_copy_is_one_line_per_minute) {
  DuplicateLog log;
  const int who = 0;
  EXPECT_EQ(lines(log, &who, kStart, 59s), 1);
  EXPECT_EQ(lines(log, &who, kStart + 59s, 60s), 1);
}

TEST(DuplicateLogTest, B_02_a_process_that_was_started_again_is_none) {
  DuplicateLog log;
  const int who = 0;
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(lines(log, &who, kStart + round * 5s, 600ms), 0) << round;
  }
}

TEST(DuplicateLogTest, B_02_a_copy_whose_attempts_are_far_apart_is_a_line) {
  DuplicateLog log;
  const int who = 0;
  int count = 0;
  for (base::Duration t{}; t < 30s; t += 1100ms) count += log.note(&who, kStart + t) ? 1 : 0;
  EXPECT_EQ(count, 1);
}

TEST(DuplicateLogTest, B_02_processes_that_are_started_again_without_a_pause_are_none) {
  DuplicateLog log;
  const int who = 0;
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(lines(log, &who, kStart + round * 700ms, 600ms), 0) << round;
    log.on_link_up(&who);
  }
}

TEST(DuplicateLogTest, B_02_each_identity_has_its_line) {
  DuplicateLog log;
  const int a = 0;
  const int b = 0;
  EXPECT_EQ(lines(log, &a, kStart, 10s), 1);
  EXPECT_EQ(lines(log, &b, kStart + 5s, 10s), 1);
}

}  // namespace duplicate_log_test
}  // namespace splitnic::iou
