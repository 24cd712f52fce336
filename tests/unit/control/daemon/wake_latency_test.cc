#include "control/daemon/wake_latency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/log_lines.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace wake_latency_test {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Requests = std::vector<std::int32_t>;

constexpr base::Duration kHeldFor = 20ms;
constexpr std::int32_t kAny = 2'000'000'000;

// All that was written to the file: in the kernel each request replaces the one before.
Requests requests_in(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  Requests all;
  for (std::int32_t one = 0; in.read(reinterpret_cast<char*>(&one), sizeof one);) {
    all.push_back(one);
  }
  return all;
}

TEST(WakeLatencyTest, there_is_none_while_frames_come_and_for_a_while_behind_the_last) {
  const support::TempFolder folder;
  const std::string file = folder.path("latency");
  std::ofstream(file).close();
  WakeLatency latency = WakeLatency::open({.held_for = kHeldFor, .file = file}).value();
  base::Time now{1s};
  latency.note(0, now);
  EXPECT_EQ(requests_in(file), Requests());
  EXPECT_EQ(latency.deadline(), base::kNever);
  latency.note(100, now);
  EXPECT_EQ(latency.deadline(), now + kHeldFor);
  now += kHeldFor - 1ns;
  latency.note(100, now);
  EXPECT_EQ(requests_in(file), Requests{0});
  latency.note(200, now);
  now += kHeldFor - 1ns;
  latency.note(200, now);
  EXPECT_EQ(requests_in(file), Requests{0}) << "another frame has come meanwhile";
  latency.note(200, now + 1ns);
  EXPECT_EQ(requests_in(file), (Requests{0, kAny}));
  EXPECT_EQ(latency.deadline(), base::kNever);
  latency.note(300, now + 1s);
  EXPECT_EQ(requests_in(file), (Requests{0, kAny, 0}));
}

TEST(WakeLatencyTest, without_the_file_the_error_has_its_name_and_the_remedy) {
  const support::TempFolder folder;
  const std::string file = folder.path("none");
  const auto refused = WakeLatency::open({.held_for = kHeldFor, .file = file});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value(), ENOENT);
  EXPECT_THAT(refused.error().text(),
              HasSubstr("--keep-awake: opening " + file + ": No such file or directory: give "));
}

TEST(WakeLatencyTest, what_may_not_be_written_is_to_be_permitted) {
  const support::TempFolder folder;
  const auto refused = WakeLatency::open({.held_for = kHeldFor, .file = folder.path()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value(), EISDIR);
  EXPECT_THAT(refused.error().text(), HasSubstr(": permit the user and service"));
}

TEST(WakeLatencyTest, a_request_that_the_kernel_refuses_is_logged_and_the_last) {
  const support::LogLines log;
  WakeLatency latency = WakeLatency::open({.held_for = kHeldFor, .file = "/dev/full"}).value();
  for (std::uint64_t bytes = 1; bytes <= 3; ++bytes) latency.note(bytes, base::Time{1s});
  EXPECT_EQ(latency.deadline(), base::kNever);
  EXPECT_EQ(log.count("--keep-awake: requesting wake-ups without latency: No space left"), 1U);
}

TEST(WakeLatencyTest, without_a_time_nothing_is_requested) {
  EXPECT_FALSE(WakeLatencyOptions().is_given());
  EXPECT_TRUE((WakeLatencyOptions{.held_for = 1ms, .file = ""}.is_given()));
  EXPECT_EQ(WakeLatencyOptions().file, "/dev/cpu_dma_latency");
}

}  // namespace wake_latency_test
}  // namespace splitnic::control
