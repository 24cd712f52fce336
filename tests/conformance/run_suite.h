// The suite against the I/O unit in one process, for its tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conformance/report/report.h"
#include "conformance/selection.h"
#include "tests/conformance/unit_target.h"

namespace splitnic::conformance {

// `run_number` is SuiteConfig::run.
inline Report run(UnitTarget& target, const std::vector<std::string>& wanted = {},
                  const std::map<std::string, std::string>& skips = {},
                  base::Duration timeout = std::chrono::seconds(1), std::uint64_t run_number = 0) {
  Report report{.target = "in process"};
  const auto lines = target.lines();
  Suite suite(lines, {.timeout = timeout, .run = run_number});
  suite.run(select(cases(), wanted, skips),
            [&](const CaseResult& result) { report.results.push_back(result); });
  report.coverage = suite.coverage().tables();
  return report;
}

inline std::string failures_of(const Report& report) {
  std::string text;
  for (const CaseResult& result : report.results) {
    if (result.verdict == Verdict::kPass || result.verdict == Verdict::kSkip) continue;
    text += result.about.id + " " + std::string(name(result.verdict)) + ": expected " +
            result.expected + "; received " + result.received + "\n";
  }
  return text;
}

}  // namespace splitnic::conformance
