#include "tests/tidy/clock_rules.h"

#include <gtest/gtest.h>

namespace splitnic::tidy {
namespace {

TEST(ClockRules, F_50_a_timer_that_follows_the_wall_clock_is_found) {
  for (const char* const line :
       {"const auto end = std::chrono::system_clock::now() + 1s;\n",
        "using Clock = std::chrono::high_resolution_clock;\n",
        "::clock_gettime(CLOCK_REALTIME, &now);\n", "::timerfd_create(CLOCK_REALTIME_ALARM, 0);\n",
        "::gettimeofday(&now, nullptr);\n", "if (std::time(nullptr) > end) return;\n",
        "if (time(NULL) > end) return;\n"}) {
    EXPECT_EQ(check_wall_clock({{"base/a.cc", std::string("int a;\n") + line}}).size(), 1U) << line;
    EXPECT_TRUE(check_wall_clock({{"tests/a.cc", line}}).empty()) << line;
    EXPECT_TRUE(check_wall_clock({{"docs/a.md", line}}).empty()) << line;
    EXPECT_TRUE(check_wall_clock({{"base/log.cc", line}}).empty()) << line;
  }
}

TEST(ClockRules, clocks_that_do_not_jump_are_no_findings) {
  for (const char* const line :
       {"base::SystemClock clock;\n", "std::chrono::steady_clock::now();\n",
        "::clock_gettime(CLOCK_MONOTONIC, &now);\n", "link.on_time(now);\n", "mktime(0);\n"}) {
    EXPECT_TRUE(check_wall_clock({{"base/a.cc", line}}).empty()) << line;
  }
}

TEST(ClockRules, a_file_that_may_read_the_wall_clock_and_does_not_is_found) {
  const std::size_t all = kWallClockUsers.size();
  EXPECT_EQ(check_wall_clock_users({}).size(), all);
  EXPECT_EQ(check_wall_clock_users({{"base/log.cc", "system_clock::now();\n"}}).size(), all - 1);
  EXPECT_EQ(check_wall_clock_users({{"base/log.cc", "int a;\n"}}).size(), all);
}

}  // namespace
}  // namespace splitnic::tidy
