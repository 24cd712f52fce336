#include "control/daemon/common_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>

#include "control/config/cli_app.h"
#include "control/daemon/pool_options.h"

namespace splitnic::control {
namespace {

using ::testing::HasSubstr;

struct Seen {
  bool may = false;
  std::string log;
};

Seen ask_on(std::size_t processors, std::uint32_t queues, bool is_asked_for) {
  CommonOptions common;
  common.is_busy_polling = is_asked_for;
  Seen seen;
  ::testing::internal::CaptureStderr();
  seen.may = may_busy_poll(common, processors, queues);
  seen.log = ::testing::internal::GetCapturedStderr();
  return seen;
}

TEST(CommonOptionsTest, busy_poll_leaves_a_processor_or_is_ignored_and_the_log_reports_it) {
  for (const std::uint32_t queues : {1U, 2U, 4U}) {
    for (const std::size_t processors : {std::size_t{1}, std::size_t{queues}}) {
      const Seen none_left = ask_on(processors, queues, true);
      EXPECT_FALSE(none_left.may);
      EXPECT_THAT(none_left.log, HasSubstr("--busy-poll is left out"));
      EXPECT_EQ(none_left.log.find('\n'), none_left.log.size() - 1);

      const Seen not_asked = ask_on(processors, queues, false);
      EXPECT_FALSE(not_asked.may);
      EXPECT_EQ(not_asked.log, "");
    }
    for (const std::size_t processors : {std::size_t{0}, std::size_t{queues + 1}}) {  // 0: unknown
      const Seen with_others = ask_on(processors, queues, true);
      EXPECT_TRUE(with_others.may) << processors;
      EXPECT_EQ(with_others.log, "") << processors;
      EXPECT_FALSE(ask_on(processors, queues, false).may) << processors;
    }
  }
}

TEST(CommonOptionsTest, S002_43_lanes_have_a_dscp) {
  const auto dscps_of = [](const std::vector<std::string>& typed) {
    CommonArguments arguments;
    arguments.lane_dscp = typed;
    const auto checked = check_common_options(arguments, "node");
    EXPECT_TRUE(checked) << checked.error().text();
    return checked ? checked->port.dscp_of_lane : std::array<std::uint8_t, fabric::kLaneCount>{};
  };
  EXPECT_EQ(dscps_of({}), (std::array<std::uint8_t, fabric::kLaneCount>{}));
  std::array<std::uint8_t, fabric::kLaneCount> expected{};
  expected.at(0) = 63;
  expected.at(3) = 46;
  expected.at(15) = 48;
  EXPECT_EQ(dscps_of({"3=46", "15=48", "0=63"}), expected);
  CommonArguments twice;
  twice.lane_dscp = {"3=46", "3=10"};
  const auto refused = check_common_options(twice, "node");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "--lane-dscp: lane 3 is given twice");
}

TEST(CommonOptionsTest, busy_poll_takes_no_more_processors_than_cpus_names) {
  CommonOptions common;
  common.is_busy_polling = true;
  common.processors = {5, 5};
  EXPECT_TRUE(may_busy_poll(common, 2, 2));
  common.processors = {5, 6};
  EXPECT_FALSE(may_busy_poll(common, 2, 2));
}

TEST(CommonOptionsTest, keep_awake_is_off_or_a_time_of_up_to_a_minute) {
  const auto checked = [](const std::string& text) {
    CommonArguments typed;
    typed.keep_awake = text;
    return check_common_options(typed, "n");
  };
  EXPECT_FALSE(check_common_options({}, "n").value().wake_latency.is_given());
  EXPECT_FALSE(checked("0").value().wake_latency.is_given());
  EXPECT_EQ(checked("1").value().wake_latency.held_for, std::chrono::milliseconds(1));
  EXPECT_EQ(checked("60000").value().wake_latency.held_for, std::chrono::minutes(1));
  const auto refused = checked("60001");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "--keep-awake: '60001' is not a whole number from 0 to 60000");
}

TEST(CommonOptionsTest, auto_is_one_queue_per_processor_up_to_4) {
  CommonOptions common;
  EXPECT_EQ(queues_to_open(common, {}), 1U) << "unknown";
  EXPECT_EQ(queues_to_open(common, {5}), 1U);
  EXPECT_EQ(queues_to_open(common, {0, 2, 4}), 3U);
  EXPECT_EQ(queues_to_open(common, {0, 1, 2, 3, 4, 5}), 4U);
  common.is_busy_polling = true;
  EXPECT_EQ(queues_to_open(common, {}), 1U);
  EXPECT_EQ(queues_to_open(common, {5}), 1U);
  EXPECT_EQ(queues_to_open(common, {0, 2, 4}), 2U) << "so that it may busy-poll";
  common.queues = 8;
  EXPECT_EQ(queues_to_open(common, {0}), 8U);
}

// The processors that threads are bound to, and what the log reports about it.
struct Binding {
  Processors processors;
  std::string log;
};

Binding binding_of(const CommonOptions& common, std::uint32_t queues) {
  Binding binding;
  ::testing::internal::CaptureStderr();
  binding.processors = processors_to_bind(common, queues);
  binding.log = ::testing::internal::GetCapturedStderr();
  return binding;
}

TEST(CommonOptionsTest, no_thread_is_bound_without_cpus) {
  const CommonOptions common;
  EXPECT_EQ(binding_of(common, 1).processors, Processors{});
  EXPECT_EQ(binding_of(common, 3).processors, Processors{});
  EXPECT_EQ(binding_of(common, 3).log, "");
}

TEST(CommonOptionsTest, cpus_are_used_as_given) {
  CommonOptions common;
  common.processors = {7, 7, 2};
  EXPECT_EQ(binding_of(common, 1).processors, (Processors{7, 7, 2}));
  EXPECT_EQ(binding_of(common, 1).log, "");
  EXPECT_EQ(binding_of(common, 2).log, "") << "2 queues";
  EXPECT_THAT(binding_of(common, 4).log, HasSubstr("a longer --cpus"));
  EXPECT_THAT(binding_of(common, 3).log, HasSubstr("3 data threads share 2 of the processors"));
}

TEST(CommonOptionsTest, an_option_that_switches_off_clears_what_is_on) {
  const auto app = make_app("test", "");
  CommonArguments typed;
  add_process_options(*app, typed, "");
  const std::array<const char*, 2> line{"test", "--no-gso"};
  ASSERT_FALSE(run_parser(*app, static_cast<int>(line.size()), line.data()));
  EXPECT_FALSE(typed.uses_gso);
  EXPECT_TRUE(typed.is_sandboxed);
}

TEST(CommonOptionsTest, payload_crc) {
  using fabric::PayloadCrcMode;
  const auto mode_of = [](const std::string& text) {
    CommonArguments typed;
    typed.payload_crc = text;
    return check_common_options(typed, "n").value().port.payload_crc;
  };
  EXPECT_EQ(check_common_options({}, "n").value().port.payload_crc, PayloadCrcMode::kAuto);
  EXPECT_EQ(mode_of("on"), PayloadCrcMode::kOn);
  EXPECT_EQ(mode_of("off"), PayloadCrcMode::kOff);
  EXPECT_EQ(mode_of("auto"), PayloadCrcMode::kAuto);
  for (const char* text : {"", "On", "yes", "auto "}) {
    CommonArguments typed;
    typed.payload_crc = text;
    const auto refused = check_common_options(typed, "n");
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().text(), HasSubstr("--payload-crc")) << text;
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
