// Tests that end in every way, for gtest_groups_test.py. ctest does not run them as tests of the
// project.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace splitnic::groups_sample {

TEST(Good, passes) {}

TEST(Good, prints_a_note) { std::puts("note: here is a note"); }

TEST(Good, prints_half_a_line) { std::fputs("half a line", stdout); }

TEST(Bad, fails) { EXPECT_EQ(1, 2); }

TEST(Bad, is_skipped) { GTEST_SKIP(); }

TEST(Bad, crashes) { std::abort(); }

TEST(Bad, never_ends) { std::this_thread::sleep_for(std::chrono::hours(1)); }

// As a leak does, that is found when the process ends.
TEST(Bad, fails_at_the_exit) {
  std::atexit([] { std::_Exit(3); });
}

TEST(Bad, ends_the_process) { std::exit(0); }

}  // namespace splitnic::groups_sample
