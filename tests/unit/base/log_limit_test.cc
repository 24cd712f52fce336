// The limits of log lines, by the clock of the test.
#include "base/log_limit.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace splitnic::base {
namespace log_limit_test {

using namespace std::chrono_literals;

constexpr LogCause kFlood{"flood", 1};

struct LimitTest : ::testing::Test {
  // Returns how many of `lines` lines pass now.
  int pass(const LogCause& cause, int lines) {
    int passed = 0;
    for (int i = 0; i < lines; ++i) {
      const std::string line = "line " + std::to_string(i);
      passed += limit.pass(cause, line, now,
                           [this](std::string_view first, std::uint64_t count) {
                             reports.push_back(std::string(first) + ": " + std::to_string(count));
                           })
                    ? 1
                    : 0;
    }
    return passed;
  }

  LogLimit limit;
  Time now{100s};
  std::vector<std::string> reports;
};

TEST_F(LimitTest, H_4_a_cause_has_ten_lines_a_second_and_one_that_counts_the_rest) {
  EXPECT_EQ(pass(kFlood, 100'000), kLogLinesPerCause);
  now += 999ms;
  EXPECT_EQ(pass(kFlood, 1), 0);
  EXPECT_TRUE(reports.empty());
  now += 1ms;
  EXPECT_EQ(pass(kFlood, 100), kLogLinesPerCause - 1) << "the report is a line, too";
  EXPECT_EQ(reports, std::vector<std::string>{"line 10: 99991"});
  EXPECT_EQ(limit.left_out(), 99'991U + 91U);
}

TEST_F(LimitTest, H_4_a_flood_of_one_cause_hides_no_other) {
  pass(kFlood, 1000);
  EXPECT_EQ(pass({"flood", 2}, 1), 1);
  EXPECT_EQ(pass({"other", 1}, 1), 1);
}

TEST_F(LimitTest, H_4_all_causes_together_have_a_limit) {
  int passed = 0;
  for (std::uint32_t line = 1; line <= 100; ++line) passed += pass({"many", line}, 1);
  EXPECT_EQ(passed, kLogLinesInAll);
  now += 5s;
  EXPECT_EQ(pass({"many", 1}, 1), 0) << "reports of those left out come first";
  EXPECT_EQ(reports.size(), 50U);
  now += 1s;
  EXPECT_EQ(pass({"many", 1}, 1), 1);
}

TEST_F(LimitTest, H_4_events_have_limits_that_are_larger) {
  limit = LogLimit(256, 300);
  EXPECT_EQ(pass(kFlood, 1000), 256);
  EXPECT_EQ(pass({"other", 1}, 1000), 44);
}

TEST_F(LimitTest, what_was_left_out_is_reported_once_and_with_the_line_of_any_cause) {
  pass(kFlood, 11);
  now += 1h;
  pass({"other", 1}, 1);
  now += 1h;
  pass({"other", 1}, 1);
  EXPECT_EQ(reports, std::vector<std::string>{"line 10: 1"});
}

}  // namespace log_limit_test
}  // namespace splitnic::base
