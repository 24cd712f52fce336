// The commands of --up and --down: when they run, with which variables and rights, and that nobody
// waits for them.
#include "control/daemon/hook_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "control/daemon/hook_command.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace hook_process_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  std::string end;
  std::vector<std::string> lines;
};

// Some programs leave SIGCHLD ignored to what they start.
class IgnoredSigchld {
 public:
  IgnoredSigchld() : before_(std::signal(SIGCHLD, SIG_IGN)) {}
  ~IgnoredSigchld() { std::signal(SIGCHLD, before_); }
  IgnoredSigchld(const IgnoredSigchld&) = delete;
  IgnoredSigchld& operator=(const IgnoredSigchld&) = delete;

 private:
  void (*before_)(int);
};

Outcome outcome_of(const std::string& text, base::Duration limit = 30s) {
  Outcome out;
  out.end = run({text, {"PATH=/usr/bin:/bin", "X=y"}, limit},
                [&](std::string_view line) { out.lines.emplace_back(line); });
  return out;
}

TEST(HookCommandTest, output_is_lines_and_the_end_is_words) {
  const Outcome good = outcome_of("echo one; echo $X >&2; printf three");
  EXPECT_EQ(good.end, "");
  EXPECT_THAT(good.lines, ElementsAre("one", "y", "three"));
  EXPECT_EQ(outcome_of("exit 3").end, "ended with status 3");
  EXPECT_EQ(outcome_of("kill -KILL $$").end, "was killed by signal 9");
  EXPECT_THAT(outcome_of("no-such-command").end, HasSubstr("status 127"));
}

TEST(HookCommandTest, the_end_is_seen_where_the_system_keeps_no_status) {
  const IgnoredSigchld ignored;
  EXPECT_EQ(outcome_of("exit 3").end, "ended with a status that is not known");
}

TEST(HookCommandTest, one_that_takes_too_long_is_killed_with_what_it_has_started) {
  const support::TempFolder folder;
  const std::string late = folder.path("late");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(outcome_of("(sleep 1; touch " + late + ") & sleep 60", 300ms).end,
            "took longer than 300 ms and was killed");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 20s);
  std::this_thread::sleep_for(1500ms);
  EXPECT_FALSE(std::ifstream(late)) << "what it has started lives on";
}

TEST(HookCommandTest, one_that_prints_without_a_pause_is_killed_as_well) {
  const auto late = std::chrono::steady_clock::now() + 10s;
  const auto on_line = [&](std::string_view) {
    if (std::chrono::steady_clock::now() >= late) throw std::runtime_error("it still prints");
    std::this_thread::sleep_for(1ms);  // slower than the command, so that the pipe is never empty
  };
  const std::string text = "exec yes " + std::string(2000, 'y');
  std::string end;
  EXPECT_NO_THROW(end = run({text, {"PATH=/usr/bin:/bin"}, 300ms}, on_line));
  EXPECT_EQ(end, "took longer than 300 ms and was killed");
}

TEST(HookCommandTest, what_stays_in_the_background_is_not_waited_for) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(outcome_of("sleep 30 & echo there").end, "");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 20s);
}

// Waits until the file is there.
std::string content_of(const std::string& path) {
  for (int tries = 0; tries < 2000; ++tries) {
    std::ifstream file(path);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    if (text.ends_with("end\n")) return text;
    std::this_thread::sleep_for(5ms);
  }
  return "no file";
}

std::string command_into(const std::string& path) {
  return "{ env; grep NoNewPrivs /proc/self/status; echo end; } >" + path;
}

TEST(HookProcessTest, up_runs_at_the_report_and_down_after_the_end) {
  const support::TempFolder folder;
  ASSERT_EQ(::setenv("NOTIFY_SOCKET", "/run/none", 1), 0);
  ASSERT_EQ(::setenv("SPLITNIC_OTHER", "x", 1), 0);
  auto hooks = HookProcess::begin(
      {command_into(folder.path("up")), command_into(folder.path("down"))}, true);
  ASSERT_TRUE(hooks) << hooks.error().text();
  (*hooks)->report_up({{"TAP", "nic0"},
                       {"UNIT", "udp://[2001:db8::7]:7471"},
                       {"UNIT_NAME", "-r $(reboot) `x`\n;"},
                       {"COLOUR", "red"}});
  const std::string up = content_of(folder.path("up"));
  EXPECT_THAT(up, HasSubstr("SPLITNIC_HOOK=up\n"));
  EXPECT_THAT(up, HasSubstr("SPLITNIC_TAP=nic0\n"));
  EXPECT_THAT(up, HasSubstr("SPLITNIC_UNIT=udp://[2001:db8::7]:7471\n"));
  EXPECT_THAT(up, HasSubstr("SPLITNIC_UNIT_NAME=_r___reboot___x___\n"));
  EXPECT_THAT(up, Not(HasSubstr("COLOUR")));
  EXPECT_THAT(up, Not(HasSubstr("NOTIFY_SOCKET")));
  EXPECT_THAT(up, Not(HasSubstr("SPLITNIC_OTHER")));
  EXPECT_THAT(up, HasSubstr("NoNewPrivs:\t1\n"));
  EXPECT_FALSE(std::ifstream(folder.path("down")));
  hooks->reset();  // as if the program had ended
  const std::string down = content_of(folder.path("down"));
  EXPECT_THAT(down, HasSubstr("SPLITNIC_HOOK=down\n"));
  EXPECT_THAT(down, HasSubstr("SPLITNIC_TAP=nic0\n"));
  ::unsetenv("NOTIFY_SOCKET");
  ::unsetenv("SPLITNIC_OTHER");
}

TEST(HookProcessTest, commands_have_their_status_where_the_starter_ignores_sigchld) {
  const support::TempFolder folder;
  const IgnoredSigchld ignored;
  ::testing::internal::CaptureStderr();
  auto hooks = HookProcess::begin({"exit 3", command_into(folder.path("down"))}, false);
  ASSERT_TRUE(hooks);
  (*hooks)->report_up({{"TAP", "nic0"}});
  hooks->reset();
  EXPECT_THAT(content_of(folder.path("down")), HasSubstr("SPLITNIC_HOOK=down\n"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("--up ended with status 3: exit 3"));
}

TEST(HookProcessTest, nobody_waits_for_a_command) {
  const support::TempFolder folder;
  auto hooks = HookProcess::begin({"sleep 60", command_into(folder.path("down"))}, false, 200ms);
  ASSERT_TRUE(hooks);
  const auto began = std::chrono::steady_clock::now();
  (*hooks)->report_up({{"TAP", "nic0"}});
  hooks->reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
  EXPECT_THAT(content_of(folder.path("down")), HasSubstr("SPLITNIC_HOOK=down\n"));
}

TEST(HookProcessTest, without_a_carrier_nothing_runs) {
  const support::TempFolder folder;
  auto hooks = HookProcess::begin({"", "touch " + folder.path("down")}, false);
  ASSERT_TRUE(hooks);
  hooks->reset();
  std::this_thread::sleep_for(300ms);
  EXPECT_FALSE(std::ifstream(folder.path("down")));
}

}  // namespace hook_process_test
}  // namespace splitnic::control
