// The suite against the I/O unit in one process, for its tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conformance/selection.h"
#include "tests/conformance/run_cases.h"
#include "tests/conformance/unit_target.h"

namespace splitnic::conformance {

// `run_number` is SuiteConfig::run.
inline Report run(UnitTarget& target, const std::vector<std::string>& wanted = {},
                  const std::map<std::string, std::string>& skips = {},
                  base::Duration timeout = std::chrono::seconds(1), std::uint64_t run_number = 0) {
  const auto lines = target.lines();
  Suite suite(lines, {.timeout = timeout, .run = run_number});
  return run_cases(suite, select(cases(), wanted, skips));
}

}  // namespace splitnic::conformance
