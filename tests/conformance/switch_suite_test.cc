// The suite against a switch in this process, with and without keys, and with fewer ports.
#include "conformance/switch_suite.h"

#include <gtest/gtest.h>

#include <set>

#include "conformance/selection.h"
#include "tests/conformance/run_cases.h"
#include "tests/conformance/switch_target.h"

namespace splitnic::conformance::switch_suite_test {
namespace {

using namespace std::chrono_literals;

Report run(std::vector<Line*> lines, const std::vector<std::string>& wanted = {},
           std::uint64_t run_number = 0) {
  SwitchSuite suite(lines, {.timeout = 1s, .run = run_number});
  EXPECT_TRUE(suite.is_reachable());
  return run_cases(suite, select(cases(Role::kNodes), wanted, {}));
}

TEST(ConformanceSwitchSuite, every_case_passes_against_the_switch) {
  SwitchTarget target({});
  const Report report = run(target.lines());
  EXPECT_EQ(not_passed(report), "");
  EXPECT_GE(report.count(Verdict::kPass), 65U);
  EXPECT_TRUE(report.coverage.empty());
  EXPECT_TRUE(report.is_good());
}

TEST(ConformanceSwitchSuite, every_case_passes_against_the_keyed_switch) {
  SwitchTarget target({.is_keyed = true});
  const Report report = run(target.lines());
  EXPECT_EQ(not_passed(report), "");
  EXPECT_GE(report.count(Verdict::kPass), 66U);
}

TEST(ConformanceSwitchSuite, every_case_passes_over_a_path_with_a_delay) {
  SwitchTarget target({.delay = 25ms});
  EXPECT_EQ(not_passed(run(target.lines())), "");
}

TEST(ConformanceSwitchSuite, two_runs_follow_each_other_at_the_same_ports) {
  SwitchTarget target({});
  EXPECT_EQ(not_passed(run(target.lines(), {"path.both_ways"}, 1)), "");
  EXPECT_EQ(not_passed(run(target.lines(), {"path.both_ways"}, 2)), "");
}

TEST(ConformanceSwitchSuite, cases_that_need_more_ports_than_there_are_are_skipped) {
  SwitchTarget target({});
  std::vector<Line*> lines = target.lines();
  lines.resize(1);
  const Report report = run(lines);
  EXPECT_GT(report.count(Verdict::kPass), 10U);
  EXPECT_EQ(report.count(Verdict::kPass) + report.count(Verdict::kSkip), report.results.size());
}

TEST(ConformanceSwitchSuite, the_topology_is_what_a_switch_reads) {
  std::vector<session::PublicKey> keys(kSwitchPorts + 1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    base::SeededRandom random(i + 1);
    keys[i] = session::public_key_of(session::random_private_key(random));
  }
  for (std::size_t ports = 1; ports <= kSwitchPorts; ++ports) {
    for (const bool is_keyed : {false, true}) {
      const auto used =
          is_keyed
              ? std::vector(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(ports + 1))
              : std::vector<session::PublicKey>{};
      const auto file = fabric_switch::parse_topology(switch_topology(ports, used));
      ASSERT_TRUE(file.has_value()) << file.error().text();
      const auto plan = fabric::plan_of(file->topology, std::string(kSwitchName));
      ASSERT_TRUE(plan.has_value());
      for (std::size_t port = 1; port <= ports; ++port) {
        EXPECT_EQ(plan->ports.at(port).lid, lid_at(port));
        if (is_keyed) {
          EXPECT_EQ(file->keys.at(name_at(port)), keys[port - 1]);
        }
      }
      if (is_keyed) {
        EXPECT_EQ(file->keys.at(std::string(kSwitchName)), keys[ports]);
      }
      if (ports == kSwitchPorts) {
        EXPECT_EQ(plan->tables.port_of(kFarLid), kCablePort);
      }
    }
  }
}

}  // namespace
}  // namespace splitnic::conformance::switch_suite_test
