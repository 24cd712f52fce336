// A run of the suite in any role against a target in this process, and the checks of its report
// that the tests of all roles share.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "conformance/report/report.h"
#include "conformance/runner.h"

namespace splitnic::conformance {

inline Report run_cases(Runner& suite, const std::vector<Selected>& chosen) {
  Report report{.target = "in process"};
  suite.run(chosen, [&](const CaseResult& result) { report.results.push_back(result); });
  report.coverage = suite.coverage().tables();
  return report;
}

inline std::string line_of(const CaseResult& result) {
  return result.about.id + " " + std::string(name(result.verdict)) + ": expected " +
         result.expected + "; received " + result.received + "\n";
}

inline std::string failures_of(const Report& report) {
  std::string text;
  for (const CaseResult& result : report.results) {
    if (result.verdict != Verdict::kPass && result.verdict != Verdict::kSkip) {
      text += line_of(result);
    }
  }
  return text;
}

// A case that was skipped has checked nothing either, but for those of other links.
inline std::string not_passed(const Report& report) {
  std::string text;
  for (const CaseResult& result : report.results) {
    const bool is_for_another = result.expected.starts_with("for links") ||
                                result.expected.starts_with("the host does not ask for");
    if (result.verdict != Verdict::kPass && !is_for_another) {
      text += line_of(result);
    }
  }
  return text;
}

// The edges of the state tables that a run should reach and did not, one per line: a case that no
// longer drives its target there shows here.
inline std::string not_reached(const Report& report) {
  std::string text;
  for (const TableCoverage& one : report.coverage) {
    for (const TableCoverage::Missing& missing : one.missing) {
      if (!missing.is_out_of_reach) text += one.table->name + ": " + missing.text() + "\n";
    }
  }
  return text;
}

// At least this many cases have passed, and no edge is missing but these.
inline void expect_complete(const Report& report, std::size_t passed_min,
                            const std::string& missing = {}) {
  EXPECT_GE(report.count(Verdict::kPass), passed_min);
  EXPECT_EQ(not_reached(report), missing);
  EXPECT_GE(Coverage::percent_of(report.coverage), 95U);
  EXPECT_TRUE(report.is_good());
}

inline void expect_described(const std::vector<Case>& cases) {
  std::set<std::string> ids;
  for (const Case& one : cases) {
    EXPECT_TRUE(ids.insert(one.id).second) << one.id;
    std::set<std::string> cited;
    for (const std::string& clause : one.clauses()) {
      EXPECT_TRUE(clause.starts_with("P-")) << one.id << ": " << clause;
      EXPECT_TRUE(cited.insert(clause).second) << one.id << ": " << clause;
    }
    EXPECT_TRUE(one.description.ends_with(".")) << one.id;
  }
}

// The first cases of both have exchanged the same bytes.
inline void expect_same_bytes(const Report& first, const Report& second) {
  const auto& a = first.results.at(0).transcript.all();
  const auto& b = second.results.at(0).transcript.all();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].bytes, b[i].bytes) << i;
}

// Of two cases the first one has ended the target.
inline void expect_wedged(const Report& report) {
  ASSERT_EQ(report.results.size(), 2U);
  EXPECT_EQ(report.results[0].verdict, Verdict::kWedged);
  EXPECT_EQ(report.results[1].verdict, Verdict::kSkip);
  EXPECT_FALSE(report.is_good());
}

}  // namespace splitnic::conformance
