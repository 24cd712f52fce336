// The suite against a switch that manages in this process, with and without keys.
#include "conformance/manager_suite.h"

#include <gtest/gtest.h>

#include "conformance/report/report.h"
#include "conformance/selection.h"
#include "conformance/subnet.h"
#include "tests/conformance/manager_target.h"

namespace splitnic::conformance::manager_suite_test {
namespace {

using namespace std::chrono_literals;

Report run(PortsTarget& target, const std::vector<std::string>& wanted = {}) {
  Report report{.target = "in process"};
  const std::vector<Line*> lines = target.lines();
  ManagerSuite suite(lines, {.timeout = 1s});
  EXPECT_TRUE(suite.is_reachable());
  suite.run(select(cases(Role::kSubnet), wanted, {}),
            [&](const CaseResult& result) { report.results.push_back(result); });
  report.coverage = suite.coverage().tables();
  return report;
}

std::string not_passed(const Report& report) {
  std::string text;
  for (const CaseResult& result : report.results) {
    if (result.verdict == Verdict::kPass) continue;
    text += result.about.id + " " + std::string(name(result.verdict)) + ": expected " +
            result.expected + "; received " + result.received + "\n";
  }
  return text;
}

TEST(ConformanceManagerSuite, every_case_passes_against_the_manager) {
  ManagerTarget target({});
  const Report report = run(target);
  EXPECT_EQ(not_passed(report), "");
  EXPECT_GE(report.count(Verdict::kPass), 100U);
  EXPECT_TRUE(report.is_good());
}

TEST(ConformanceManagerSuite, every_case_passes_against_the_keyed_manager) {
  ManagerTarget target({.is_keyed = true});
  const Report report = run(target);
  EXPECT_EQ(not_passed(report), "");
  EXPECT_GE(report.count(Verdict::kPass), 100U);
}

TEST(ConformanceManagerSuite, the_topology_is_what_a_switch_reads) {
  std::vector<session::PublicKey> keys(kManagerPorts + 1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    base::SeededRandom random(i + 1);
    keys[i] = session::public_key_of(session::random_private_key(random));
  }
  for (const bool is_keyed : {false, true}) {
    const auto file =
        fabric_switch::parse_topology(manager_topology(is_keyed ? keys : decltype(keys)()));
    ASSERT_TRUE(file.has_value()) << file.error().text();
    const auto plan = fabric::plan_of(file->topology, std::string(kManagerName));
    ASSERT_TRUE(plan.has_value());
    EXPECT_EQ(plan->ports.at(kEastPort).lid, kEastLid);
    EXPECT_EQ(plan->ports.at(kWestPort).lid, kWestLid);
    EXPECT_EQ(plan->ports.at(kNodePort).lid, kNearNodeLid);
    EXPECT_TRUE(plan->ports.at(kNodePort).is_node());
    EXPECT_EQ(file->topology.cables.size(), 5U);
    EXPECT_EQ(file->keys.size(), is_keyed ? keys.size() : 0U);
  }
}

}  // namespace
}  // namespace splitnic::conformance::manager_suite_test
