#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "conformance/report/report.h"

namespace splitnic::conformance {
namespace {

std::uint64_t microseconds_of(base::Duration duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

boost::json::object object_of(const CaseResult& result) {
  boost::json::object out{{"id", result.about.id},
                          {"clause", result.about.clause},
                          {"level", name(result.about.level)},
                          {"description", result.about.description},
                          {"verdict", name(result.verdict)},
                          {"microseconds", microseconds_of(result.took)}};
  if (result.verdict == Verdict::kSkip) {
    out["reason"] = printable(result.expected);
  } else if (result.verdict != Verdict::kPass) {
    out["expected"] = printable(result.expected);
    out["received"] = printable(result.received);
  }
  return out;
}

}  // namespace

std::string json_of(const Report& report) {
  boost::json::array cases;
  for (const CaseResult& result : report.results) cases.push_back(object_of(result));
  const boost::json::object out{{"target", report.target},
                                {"seed", report.seed},
                                {"passed", report.count(Verdict::kPass)},
                                {"failed", report.count(Verdict::kFail)},
                                {"warned", report.count(Verdict::kWarn)},
                                {"rejected", report.count(Verdict::kRejected)},
                                {"wedged", report.count(Verdict::kWedged)},
                                {"skipped", report.count(Verdict::kSkip)},
                                {"cases", cases}};
  return boost::json::serialize(out) + "\n";
}

}  // namespace splitnic::conformance
