#include "conformance/report/report.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c >= ' ' && c <= '~' ? c : '?';
    }
  }
  return out;
}

}  // namespace splitnic::conformance
