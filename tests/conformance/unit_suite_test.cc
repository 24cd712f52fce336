// The suite as an I/O unit against the host in this process, with and without keys, and against a
// host that is silent or does not come back.
#include "conformance/unit_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "conformance/report/report.h"
#include "conformance/selection.h"
#include "tests/conformance/host_target.h"
#include "tests/conformance/not_reached.h"

namespace splitnic::conformance::unit_suite_test {
namespace {

using namespace std::chrono_literals;

Report run(HostTarget& target, const std::vector<std::string>& wanted = {},
           base::Duration timeout = 1s, std::uint64_t run_number = 0) {
  Report report{.target = "in process"};
  UnitSuite suite(target.line(), {.timeout = timeout, .run = run_number});
  if (!suite.is_reachable()) return report;
  suite.run(select(cases(Role::kUnit), wanted, {}),
            [&](const CaseResult& result) { report.results.push_back(result); });
  report.coverage = suite.coverage().tables();
  return report;
}

// A case that was skipped has checked nothing either, but for those of other links.
std::string not_passed(const Report& report) {
  std::string text;
  for (const CaseResult& result : report.results) {
    const bool is_of_links = result.expected.find("for links") == 0;
    if (result.verdict == Verdict::kPass || is_of_links) continue;
    text += result.about.id + " " + std::string(name(result.verdict)) + ": expected " +
            result.expected + "; received " + result.received + "\n";
  }
  return text;
}

TEST(ConformanceUnitSuite, every_case_passes_against_the_host) {
  HostTarget target({});
  const Report report = run(target);
  EXPECT_EQ(not_passed(report), "");
  EXPECT_GE(report.count(Verdict::kPass), 265U);
  EXPECT_EQ(not_reached(report), "");
  EXPECT_TRUE(report.is_good());
}

TEST(ConformanceUnitSuite, every_case_passes_against_the_keyed_host) {
  HostTarget target({.is_keyed = true});
  const Report report = run(target);
  EXPECT_EQ(not_passed(report), "");
  EXPECT_GE(report.count(Verdict::kPass), 275U);
  EXPECT_EQ(
      not_reached(report),
      "session at the initiator: KEYED to none, 180 s, 2^28 records: it takes three minutes\n");
  EXPECT_GE(Coverage::percent_of(report.coverage), 95U);
}

TEST(ConformanceUnitSuite, ids_are_unique_in_all_roles_and_every_case_is_for_one) {
  std::set<std::string> ids;
  for (const Case& one : all_cases()) {
    EXPECT_TRUE(ids.insert(one.id).second) << one.id;
    EXPECT_TRUE(one.clause.starts_with("P-")) << one.id;
    EXPECT_TRUE(one.description.ends_with(".")) << one.id;
    EXPECT_TRUE(one.is_for(Role::kHost) || one.is_for(Role::kUnit) || one.is_for(Role::kNodes))
        << one.id;
  }
}

TEST(ConformanceUnitSuite, nobody_is_reachable_where_no_host_comes) {
  HostTarget target({});
  target.hang();
  UnitSuite suite(target.line(), {.timeout = 100ms});
  EXPECT_FALSE(suite.is_reachable());
}

// A host that dies of one case: the verdict is WEDGED.
TEST(ConformanceUnitSuite, a_host_that_does_not_come_back_is_wedged) {
  bool is_dead = false;
  HostTarget target({.rule = [&](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    fabric::CellView cell;
    if (to == To::kTarget && fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
        flit.header.type == fabric::FlitType::kData &&
        fabric::parse_cell(flit.payload, cell) == fabric::CellError::kNone &&
        cell.header.op == fabric::Op::kTerminate) {
      is_dead = true;
    }
    return !is_dead;
  }});
  const Report report = run(target, {"loss.terminate", "cfg.announce"}, 100ms);
  ASSERT_EQ(report.results.size(), 2U);
  EXPECT_EQ(report.results[0].verdict, Verdict::kWedged);
  EXPECT_EQ(report.results[1].verdict, Verdict::kSkip);
  EXPECT_FALSE(report.is_good());
}

TEST(ConformanceUnitSuite, the_same_seed_sends_the_same_first_bytes) {
  HostTarget one({}), two({});
  const Report first = run(one, {"cell.crc"});
  const Report second = run(two, {"cell.crc"});
  const auto& a = first.results.at(0).transcript.all();
  const auto& b = second.results.at(0).transcript.all();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].bytes, b[i].bytes) << i;
}

// The first that the case sends is BYE, and then the unit is another process.
TEST(ConformanceUnitSuite, two_runs_share_no_identity) {
  std::set<std::uint64_t> instances, identities;
  for (const std::uint64_t number : {1U, 2U}) {
    HostTarget target({});
    const Report report = run(target, {"link.hello"}, 1s, number);
    for (const Exchanged& one : report.results.at(0).transcript.all()) {
      fabric::FlitView flit;
      fabric::Init init;
      if (one.direction != Direction::kSent ||
          fabric::parse_flit(one.bytes, flit) != fabric::FlitError::kNone ||
          flit.header.type != fabric::FlitType::kInit ||
          fabric::parse_init(flit.payload, init) != fabric::InitError::kNone) {
        continue;
      }
      instances.insert(init.instance);
      identities.insert(init.eui64.value);
    }
  }
  EXPECT_EQ(instances.size(), 4U);
  EXPECT_EQ(identities.size(), 2U);
}

}  // namespace
}  // namespace splitnic::conformance::unit_suite_test
