#include "conformance/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/xml_text.h"

namespace splitnic::conformance {

std::size_t Report::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(results, verdict, &CaseResult::verdict));
}

bool Report::is_good() const {
  const bool has_run = count(Verdict::kPass) > 0;
  return has_run && count(Verdict::kRejected) == 0 &&
         std::ranges::none_of(results,
                              [](const auto& result) { return is_failure(result.verdict); });
}

std::string Report::summary() const {
  return fmt::format(
      "{} cases: {} passed, {} failed, {} warned, {} rejected, {} wedged, {} skipped",
      results.size(), count(Verdict::kPass), count(Verdict::kFail), count(Verdict::kWarn),
      count(Verdict::kRejected), count(Verdict::kWedged), count(Verdict::kSkip));
}

namespace {

// The worst is the largest.
int rank_of(Verdict verdict) {
  constexpr std::array kFromBest{Verdict::kSkip,     Verdict::kPass,   Verdict::kWarn,
                                 Verdict::kRejected, Verdict::kWedged, Verdict::kFail};
  return static_cast<int>(std::ranges::find(kFromBest, verdict) - kFromBest.begin());
}

// "P-RC-9" is before "P-RC-10".
std::pair<std::string, unsigned long> order_of(const std::string& clause) {
  const std::size_t dash = clause.rfind('-');
  return {clause.substr(0, dash), std::strtoul(clause.c_str() + dash + 1, nullptr, 10)};
}

}  // namespace

std::vector<ClauseResult> Report::clauses() const {
  std::map<std::pair<std::string, unsigned long>, ClauseResult> all;
  for (const CaseResult& result : results) {
    for (const std::string& clause : result.about.clauses()) {
      ClauseResult& one = all[order_of(clause)];
      one.clause = clause;
      one.cases.push_back(&result);
      if (rank_of(result.verdict) > rank_of(one.verdict)) one.verdict = result.verdict;
    }
  }
  std::vector<ClauseResult> out;
  out.reserve(all.size());
  for (auto& [order, one] : all) out.push_back(std::move(one));
  return out;
}

std::string text_of(const std::vector<TableCoverage>& coverage, bool lists_missing) {
  std::string out;
  for (const TableCoverage& one : coverage) {
    out += fmt::format("states   {}: {} of {} edges, {} of {} states\n", one.table->name,
                       one.reached, one.total, one.states_reached, one.states);
    for (const TableCoverage::Missing& missing : one.missing) {
      if (!lists_missing || missing.is_out_of_reach) continue;
      out += fmt::format("         not reached: {}\n", missing.text());
    }
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string plain(text);
  std::ranges::replace_if(
      plain, [](char c) { return c < ' ' || c > '~'; }, '?');
  return base::escape_xml(plain);
}

}  // namespace splitnic::conformance
