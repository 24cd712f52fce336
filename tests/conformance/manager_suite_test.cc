// The suite against a switch that manages in this process, with and without keys.
#include "conformance/manager_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/report/decode.h"
#include "conformance/report/report.h"
#include "conformance/selection.h"
#include "conformance/subnet.h"
#include "tests/conformance/manager_target.h"
#include "tests/conformance/run_cases.h"

namespace splitnic::conformance::manager_suite_test {
namespace {

using namespace std::chrono_literals;

Report run(PortsTarget& target, const std::vector<std::string>& wanted = {}) {
  const std::vector<Line*> lines = target.lines();
  ManagerSuite suite(lines, {.timeout = 1s});
  EXPECT_TRUE(suite.is_reachable());
  return run_cases(suite, select(cases(Role::kSubnet), wanted, {}));
}

TEST(ConformanceManagerSuite, every_case_passes_against_the_manager) {
  ManagerTarget target({});
  const Report report = run(target);
  EXPECT_EQ(not_passed(report), "");
  expect_complete(report, 105);
}

// Wherever the target's link comes up before that of the suite.
TEST(ConformanceManagerSuite, every_case_passes_over_a_path_with_a_delay) {
  ManagerTarget target({.delay = 15ms});
  EXPECT_EQ(not_passed(run(target)), "");
}

// As a person reads them in the report.
TEST(ConformanceManagerSuite, smps_are_decoded) {
  ManagerTarget target({});
  const Report report = run(target, {"agent.sets_a_table", "agent.trap", "manager.each_switch"});
  std::string labels, fields;
  for (const CaseResult& result : report.results) {
    for (const Exchanged& one : result.transcript.all()) {
      const Decoded decoded = decode(one.bytes);
      labels += decoded.label + "\n";
      for (const std::string& field : decoded.fields) fields += field + "\n";
    }
  }
  for (const std::string wanted : {"GET NODE\n", "REPLY NODE done\n", "SET MANAGER\n",
                                   "SET TABLE\n", "REPLY TABLE done\n", "TRAP NODE\n"}) {
    EXPECT_THAT(labels, testing::HasSubstr(wanted));
  }
  EXPECT_THAT(labels, testing::Not(testing::HasSubstr("not valid")));
  EXPECT_THAT(fields, testing::Not(testing::HasSubstr(" bad ")));
}

// Each edge needs its effect: none is counted for what the suite has sent.
TEST(ConformanceManagerSuite, edges_of_the_state_table_are_those_that_a_case_has_reached) {
  const auto reached_by = [](const std::string& id) {
    ManagerTarget target({});
    std::vector<std::string> not_reached;
    const Report report = run(target, {id});
    EXPECT_EQ(report.coverage.size(), 1U);
    for (const TableCoverage::Missing& one : report.coverage.at(0).missing) {
      not_reached.push_back(one.edge->id);
    }
    return not_reached;
  };
  using testing::AllOf;
  using testing::Contains;
  using testing::Not;
  EXPECT_THAT(reached_by("manager.lost_table"),
              AllOf(Not(Contains("unknown")), Not(Contains("read_set")), Contains("read_clear"),
                    Contains("read_silent"), Contains("read_refused")));
  EXPECT_THAT(reached_by("manager.clear_stale"),
              AllOf(Not(Contains("clear_differs")), Contains("clear_silent"),
                    Contains("clear_refused"), Contains("cleared"), Contains("set_differs")));
  EXPECT_THAT(reached_by("manager.silent_switch"),
              AllOf(Not(Contains("silent")), Contains("left_out"), Contains("sweep_refused")));
}

TEST(ConformanceManagerSuite, every_case_passes_against_the_keyed_manager) {
  ManagerTarget target({.is_keyed = true});
  const Report report = run(target);
  EXPECT_EQ(not_passed(report), "");
  expect_complete(report, 105);
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
