// The result of a run as a value, and what follows from it: the summary line and the exit status.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/suite.h"

namespace splitnic::conformance {

struct Report {
  std::string target{};
  std::uint64_t seed = 1;
  std::vector<CaseResult> results{};

  std::size_t count(Verdict verdict) const;
  // One case passed at least, and none failed or was rejected: what was not checked is not good.
  bool is_good() const;
  // "281 cases: 250 passed, 0 failed, ..."
  std::string summary() const;
};

std::string junit_of(const Report& report);
std::string json_of(const Report& report);
std::string html_of(const Report& report);

// "&", "<", ">" and quotes as entities; bytes that XML does not have as '?'.
std::string escaped(std::string_view text);

}  // namespace splitnic::conformance
