// The result of a run as a value, and what follows from it: the summary line and the exit status.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/suite.h"

namespace splitnic::conformance {

// A clause and the cases that check it.
struct ClauseResult {
  std::string clause{};
  Verdict verdict = Verdict::kSkip;  // the worst of its cases that ran
  std::vector<const CaseResult*> cases{};
};

struct Report {
  std::string target{};
  std::uint64_t seed = 1;
  std::vector<CaseResult> results{};
  std::vector<TableCoverage> coverage{};  // of the state tables

  std::size_t count(Verdict verdict) const;
  // Returns true if at least one case passed and none failed or was rejected. A run in which every
  // case was skipped is not good.
  bool is_good() const;
  // "281 cases: 250 passed, 0 failed, ..."
  std::string summary() const;
  // In the order of the clauses' ids.
  std::vector<ClauseResult> clauses() const;
};

// A line per state table, and with `lists_missing` one for each edge that was not reached.
std::string text_of(const std::vector<TableCoverage>& coverage, bool lists_missing);
std::string junit_of(const Report& report);
std::string json_of(const Report& report);
std::string html_of(const Report& report);

// "&", "<", ">" and quotes as entities; bytes that XML does not have as '?'.
std::string escaped(std::string_view text);

}  // namespace splitnic::conformance
