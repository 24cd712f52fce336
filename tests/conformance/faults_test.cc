// The suite finds faults: each wrong implementation fails the case that is for it. With
// SPLITNIC_LONG=1 every case runs against each of them, and the table of docs/conformance_faults.md
// is compared with what was noticed; SPLITNIC_PUBLISH=1 writes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "conformance/selection.h"
#include "tests/conformance/faults.h"
#include "tests/conformance/host_target.h"
#include "tests/conformance/manager_target.h"
#include "tests/conformance/switch_target.h"
#include "tests/conformance/unit_target.h"

namespace splitnic::conformance::faults_test {
namespace {

using namespace std::chrono_literals;

// The ids of the cases that fail, or warn where the rule is a SHOULD. That the target serves nobody
// after a case is no failure of that case.
std::vector<std::string> noticed(const Fault& fault, const std::vector<std::string>& wanted) {
  std::vector<std::string> out;
  const auto run = [&](Runner& suite) {
    suite.run(select(cases(fault.role), wanted, {}), [&](const CaseResult& result) {
      const bool warns = result.of_case == Verdict::kWarn;
      if (warns || is_failure(result.of_case)) out.push_back(result.about.id);
    });
  };
  if (fault.role == Role::kHost) {
    UnitTarget target({.is_keyed = fault.is_keyed, .rule = fault.make(), .is_full = fault.is_full});
    const auto lines = target.lines();
    Suite suite(lines, {.timeout = 1s});
    EXPECT_TRUE(!fault.is_full || suite.is_reachable()) << fault.name;
    run(suite);
  } else if (fault.role == Role::kNodes) {
    SwitchTarget target({.is_keyed = fault.is_keyed, .rule_at = fault.at_port});
    const auto lines = target.lines();
    SwitchSuite suite(lines, {.timeout = 1s});
    run(suite);
  } else if (fault.role == Role::kSubnet) {
    ManagerTarget target({.is_keyed = fault.is_keyed, .rule_at = fault.at_port});
    const auto lines = target.lines();
    ManagerSuite suite(lines, {.timeout = 1s});
    run(suite);
  } else {
    HostTarget target({.is_keyed = fault.is_keyed, .rule = fault.make(), .is_full = fault.is_full});
    UnitSuite suite(target.line(), {.timeout = 1s});
    EXPECT_TRUE(suite.is_reachable()) << fault.name;
    run(suite);
  }
  return out;
}

std::string page() {
  std::ifstream file(SPLITNIC_FAULTS_PAGE);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Faults : public testing::TestWithParam<Fault> {};

TEST_P(Faults, is_noticed_by_the_case_that_is_for_it) {
  const Fault& fault = GetParam();
  EXPECT_EQ(noticed(fault, {fault.noticed_by}), std::vector{fault.noticed_by}) << fault.what;
}

TEST_P(Faults, has_its_row_on_the_page) {
  const Fault& fault = GetParam();
  const std::string text = page();
  const std::string row = "| `" + fault.name + "` | " + fault.what + " |";
  const std::size_t at = text.find(row);
  ASSERT_NE(at, std::string::npos) << row;
  const std::string cases = text.substr(at, text.find('\n', at) - at);
  EXPECT_NE(cases.find("`" + fault.noticed_by + "`"), std::string::npos) << cases;
}

INSTANTIATE_TEST_SUITE_P(Conformance, Faults, testing::ValuesIn(all_faults()),
                         [](const auto& one) { return one.param.name; });

TEST(ConformanceFaults, there_are_enough_of_each_target_and_their_names_are_unique) {
  std::set<std::string> names;
  for (const Fault& fault : all_faults()) EXPECT_TRUE(names.insert(fault.name).second);
  const std::size_t hosts = host_faults().size();
  const std::size_t switches = switch_faults().size();
  EXPECT_GE(hosts, 15U);
  EXPECT_GE(switches, 20U);
  const std::size_t managers = manager_faults().size();
  EXPECT_GE(managers, 20U);
  EXPECT_GE(names.size(), 60U + hosts + switches + managers);
}

constexpr std::string_view kHead =
    "# Faults that the conformance suite finds\n\n"
    "Wrong implementations (`tests/conformance/faults.h`): each is the I/O unit, the host, the "
    "switch or the manager, behind a filter that breaks one\n"
    "rule of the protocol. The tables have the number of cases of [the suite](conformance.md) that "
    "fail "
    "against "
    "each, and the first of them; a\n"
    "case behind which the target serves nobody ends the run. Against a manager only the case that "
    "is "
    "for\nthe fault is run, because cases wait for sweeps, and against the full profile "
    "(`lane_...`) "
    "the group `lane`.\nIt is written by `SPLITNIC_LONG=1 "
    "SPLITNIC_PUBLISH=1` in the\n"
    "environment of `conformance_tests --gtest_filter='*the_page_has*'`.\n\n";
constexpr std::size_t kShown = 6;

std::string row_of(const Fault& fault, std::vector<std::string> ids) {
  // The one that is for it comes first.
  std::stable_partition(ids.begin(), ids.end(),
                        [&](const auto& id) { return id == fault.noticed_by; });
  std::string row =
      "| `" + fault.name + "` | " + fault.what + " | " + std::to_string(ids.size()) + " | ";
  for (std::size_t i = 0; i < std::min(ids.size(), kShown); ++i) {
    row += (i == 0 ? "`" : ", `") + ids[i] + "`";
  }
  return row + (ids.size() > kShown ? ", ... |\n" : " |\n");
}

// By the whole suite, and by the case that is for it: a target that is wedged before that case in a
// whole run is not reached by it. Cases against a manager wait for sweeps: one of them is run. Of
// the full profile those of its group are.
std::vector<std::string> noticed_by_all(const Fault& fault) {
  if (fault.role == Role::kSubnet) return noticed(fault, {fault.noticed_by});
  std::vector<std::string> wanted;
  if (fault.is_full) wanted = {"lane"};
  std::vector<std::string> ids = noticed(fault, wanted);
  if (std::ranges::find(ids, fault.noticed_by) != ids.end()) return ids;
  for (const std::string& id : noticed(fault, {fault.noticed_by})) ids.push_back(id);
  return ids;
}

std::string table_of(const std::string& title, Role role) {
  std::string table;
  std::size_t found = 0, all = 0;
  for (const Fault& fault : all_faults()) {
    if (fault.role != role) continue;
    const auto ids = noticed_by_all(fault);
    ++all;
    found += ids.empty() ? 0U : 1U;
    table += row_of(fault, ids);
  }
  return "## " + title + "\n\n" + std::to_string(found) + " of " + std::to_string(all) +
         " are noticed.\n\n| fault | what is wrong | cases | noticed by |\n|---|---|---|---|\n" +
         table;
}

std::string whole_page() {
  return std::string(kHead) + table_of("Wrong I/O units", Role::kHost) + "\n" +
         table_of("Wrong hosts", Role::kUnit) + "\n" + table_of("Wrong switches", Role::kNodes) +
         "\n" + table_of("Wrong managers", Role::kSubnet);
}

// All rows, or every tenth.
TEST(ConformanceFaults, the_page_has_what_the_suite_notices) {
  const std::vector<Fault> faults = all_faults();
  if (std::getenv("SPLITNIC_LONG") != nullptr) {
    const std::string text = whole_page();
    if (std::getenv("SPLITNIC_PUBLISH") != nullptr) std::ofstream(SPLITNIC_FAULTS_PAGE) << text;
    EXPECT_EQ(text, page());
    return;
  }
  const std::string text = page();
  EXPECT_TRUE(text.starts_with(kHead));
  for (std::size_t i = 0; i < faults.size(); i += 10) {
    const std::string row = row_of(faults[i], noticed_by_all(faults[i]));
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace splitnic::conformance::faults_test
