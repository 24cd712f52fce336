// Log lines under the journal and without it. Each runs in its own process: the logger is made
// once.
#include "base/log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace splitnic::base {
namespace log_test {

class LogTest : public ::testing::Test {
 protected:
  LogTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[noreturn]] void log_each_level() {
  set_log_level("debug");
  log_error("one");
  log_warn("two");
  log_info("three");
  log_debug("four");
  std::exit(0);
}

void claim_stderr_for_the_journal() {
  struct stat now {};
  ::fstat(STDERR_FILENO, &now);
  const std::string name = std::to_string(now.st_dev) + ":" + std::to_string(now.st_ino);
  ::setenv("JOURNAL_STREAM", name.c_str(), 1);
}

TEST_F(LogTest, the_journal_gets_priorities_and_no_time) {
  EXPECT_EXIT(
      {
        claim_stderr_for_the_journal();
        log_each_level();
      },
      ::testing::ExitedWithCode(0), "^<3>one\n<4>two\n<6>three\n<7>four\n$");
}

TEST_F(LogTest, a_stream_that_is_not_the_journals_gets_time_and_level) {
  EXPECT_EXIT(
      {
        ::setenv("JOURNAL_STREAM", "1:1", 1);
        log_each_level();
      },
      ::testing::ExitedWithCode(0), "^..:..:.....[0-9]+ error one\n..:..:.....[0-9]+ warning two");
}

}  // namespace log_test
}  // namespace splitnic::base
