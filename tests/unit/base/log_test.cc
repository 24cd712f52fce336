// Log lines under the journal and without it. Each runs in its own process: the logger is made
// once.
#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/event_log.h"

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

TEST_F(LogTest, a_line_that_the_program_ends_with_has_a_priority_under_the_journal_only) {
  EXPECT_EQ(error_priority(), "");
  EXPECT_EXIT(
      {
        claim_stderr_for_the_journal();
        std::exit(error_priority() == "<3>" ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(LogTest, a_stream_that_is_not_the_journals_gets_time_and_level) {
  EXPECT_EXIT(
      {
        ::setenv("JOURNAL_STREAM", "1:1", 1);
        log_each_level();
      },
      ::testing::ExitedWithCode(0), "^..:..:.....[0-9]+ error one\n..:..:.....[0-9]+ warning two");
}

// Each call has its own line: a place that logs is a file and a line.
[[noreturn]] void flood_the_journal() {
  claim_stderr_for_the_journal();
  for (int i = 0; i < 1000; ++i) log_warn("flood");
  log_info("another");
  ::usleep(1'100'000);
  log_info("later");
  std::exit(0);
}

TEST_F(LogTest, H_4_a_flood_from_one_place_is_ten_lines_and_hides_no_other) {
  EXPECT_EXIT(flood_the_journal(), ::testing::ExitedWithCode(0),
              "^(<4>flood\n){10}<6>another\n<4>and 990 more like: flood\n<6>later\n$");
}

// As of a peer whose link goes down and up all the time. A second of it is more than is kept.
[[noreturn]] void flood_the_events() {
  set_log_level("error");
  log_warn({EventKind::kRefused, "hA"}, "refused");
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 50'000; ++i) {
    log_info({EventKind::kLinkDown, "hB"}, "down");
    log_info({EventKind::kLinkUp, "hB"}, "up");
  }
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() -
                                                               began + std::chrono::seconds(1));
  const auto added = static_cast<std::int64_t>(events().next()) - 2;
  ::usleep(1'100'000);
  log_info("later");
  std::string kept;
  for (const auto& event : events().since(1, kEventsKept).events) kept += event->text + "\n";
  const auto has = [&](const char* text) { return kept.find(text) != std::string::npos; };
  const bool is_limited = added <= 2 * kEventsPerCause * seconds.count();
  std::exit(is_limited && kept.starts_with("refused\n") && has("more like: down\n") &&
                    has("more like: up\n") && kept.ends_with("\nlater\n")
                ? 0
                : 1);
}

TEST_F(LogTest, H_4_a_flood_of_events_takes_little_and_hides_no_other) {
  EXPECT_EXIT(flood_the_events(), ::testing::ExitedWithCode(0), "");
}

// Leaves stderr as a stream whose reader never reads, and with no room in it.
void fill_stderr(int writing_end) {
  ::dup2(writing_end, STDERR_FILENO);
  const int flags = ::fcntl(STDERR_FILENO, F_GETFL);
  ::fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
  for (const std::size_t bytes : {4096U, 1U}) {
    const std::string filler(bytes, 'x');
    while (::write(STDERR_FILENO, filler.data(), filler.size()) > 0) {
    }
  }
  ::fcntl(STDERR_FILENO, F_SETFL, flags);
}

// A log call that waits for the reader is ended by SIGALRM.
[[noreturn]] void log_against_the_clock() {
  ::alarm(5);
  for (int i = 0; i < 5; ++i) log_warn("a line that has no room");
  std::exit(log_drops().blocked == 5 ? 0 : 1);
}

[[noreturn]] void log_to_a_full_pipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) std::exit(2);
  fill_stderr(ends[1]);
  log_against_the_clock();
}

TEST_F(LogTest, H_4_a_pipe_that_nobody_reads_blocks_nobody) {
  EXPECT_EXIT(log_to_a_full_pipe(), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void log_to_a_full_socket() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) std::exit(2);
  fill_stderr(ends[1]);
  log_against_the_clock();
}

TEST_F(LogTest, H_4_a_journal_that_does_not_read_blocks_nobody) {
  EXPECT_EXIT(log_to_a_full_socket(), ::testing::ExitedWithCode(0), "");
}

}  // namespace log_test
}  // namespace splitnic::base
