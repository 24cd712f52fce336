// The format that continuous integration reads: a test suite per group, a test case per case. A
// case that the target rejected is a failure there, as the exit status of the run is.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/report/report.h"

namespace splitnic::conformance {
namespace {

double seconds_of(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

bool is_bad(Verdict verdict) { return is_failure(verdict) || verdict == Verdict::kRejected; }

std::string body_of(const CaseResult& result) {
  if (result.verdict == Verdict::kPass) return {};
  if (is_bad(result.verdict)) {
    return fmt::format("<failure type=\"{}\" message=\"expected: {}\">received: {}</failure>",
                       name(result.verdict), escaped(result.expected), escaped(result.received));
  }
  if (result.verdict == Verdict::kWarn) {
    return fmt::format("<system-out>WARN: expected: {}; received: {}</system-out>",
                       escaped(result.expected), escaped(result.received));
  }
  return fmt::format("<skipped message=\"{}: {} {}\"/>", name(result.verdict),
                     escaped(result.expected), escaped(result.received));
}

}  // namespace

std::string junit_of(const Report& report) {
  const auto failed = std::ranges::count_if(
      report.results, [](const CaseResult& one) { return is_bad(one.verdict); });
  const std::size_t skipped = report.count(Verdict::kSkip);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format(
      "<testsuite name=\"splitnic conform\" hostname=\"{}\" tests=\"{}\" failures=\"{}\" "
      "skipped=\"{}\">\n",
      escaped(report.target), report.results.size(), failed, skipped);
  for (const CaseResult& result : report.results) {
    out +=
        fmt::format("<testcase classname=\"{}\" name=\"{} ({})\" time=\"{:.6f}\">{}</testcase>\n",
                    escaped(result.about.group()), escaped(result.about.id),
                    escaped(result.about.clause), seconds_of(result.took), body_of(result));
  }
  return out + "</testsuite>\n";
}

}  // namespace splitnic::conformance
