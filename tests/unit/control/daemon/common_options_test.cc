#include "control/daemon/common_options.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace splitnic::control {
namespace {

struct Seen {
  bool may = false;
  std::string log;
};

Seen ask_on(int processors, bool is_asked_for) {
  CommonOptions common;
  common.is_busy_polling = is_asked_for;
  Seen seen;
  ::testing::internal::CaptureStderr();
  seen.may = may_busy_poll(common, processors);
  seen.log = ::testing::internal::GetCapturedStderr();
  return seen;
}

TEST(CommonOptionsTest, the_processors_are_those_that_the_thread_may_run_on) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(processors_of_this_thread(), CPU_COUNT(&all));
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(processors_of_this_thread(), 1);
  }).join();
}

TEST(CommonOptionsTest, busy_poll_is_ignored_on_one_processor_and_the_log_reports_it) {
  const Seen alone = ask_on(1, true);
  EXPECT_FALSE(alone.may);
  EXPECT_NE(alone.log.find("--busy-poll is left out"), std::string::npos) << alone.log;

  const Seen not_asked = ask_on(1, false);
  EXPECT_FALSE(not_asked.may);
  EXPECT_EQ(not_asked.log, "");

  for (const int processors : {0, 2, 64}) {  // 0: unknown
    const Seen with_others = ask_on(processors, true);
    EXPECT_TRUE(with_others.may) << processors;
    EXPECT_EQ(with_others.log, "") << processors;
    EXPECT_FALSE(ask_on(processors, false).may) << processors;
  }
}

TEST(CommonOptionsTest, pool) {
  using messaging::PoolSpec;
  EXPECT_EQ(parse_pool("1024x2048").value(), (PoolSpec{1024, 2048}));
  EXPECT_EQ(parse_pool("1x64").value(), (PoolSpec{1, 64}));
  EXPECT_EQ(parse_pool("65536x65536").value(), (PoolSpec{65536, 65536}));
  for (const char* text :
       {"", "x", "1024", "1024x", "x2048", "0x2048", "1024x0", "1024x63", "1024x65537", "65537x64",
        "-1x2048", "1024X2048", "1024x2048x1", "99999999999999999999x2048"}) {
    EXPECT_FALSE(parse_pool(text).has_value()) << text;
  }
}

TEST(CommonOptionsTest, a_default_name_is_made_a_node_name) {
  const auto name_of = [](const std::string& text) {
    return check_common_options({}, text).value().name();
  };
  EXPECT_EQ(name_of("lab-nic0"), "lab-nic0");
  EXPECT_EQ(name_of("my lab/nic0"), "my_lab_nic0");
  EXPECT_EQ(name_of(".hidden"), "_hidden");
  EXPECT_EQ(name_of(""), "node");
  EXPECT_EQ(name_of(std::string(100, 'x')), std::string(64, 'x'));
}

}  // namespace
}  // namespace splitnic::control
