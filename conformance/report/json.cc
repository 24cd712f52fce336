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
  boost::json::array clauses;
  for (const std::string& clause : result.about.clauses())
    clauses.push_back(boost::json::string(clause));
  boost::json::object out{{"id", result.about.id},
                          {"clauses", clauses},
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

boost::json::object object_of(const ClauseResult& clause) {
  boost::json::array ids;
  for (const CaseResult* const one : clause.cases)
    ids.push_back(boost::json::string(one->about.id));
  return {{"clause", clause.clause}, {"verdict", name(clause.verdict)}, {"cases", ids}};
}

boost::json::object object_of(const TableCoverage& one) {
  boost::json::array missing;
  for (const TableCoverage::Missing& edge : one.missing) {
    missing.push_back(boost::json::object{{"from", edge.edge->from},
                                          {"event", edge.edge->event},
                                          {"to", edge.edge->to},
                                          {"counts", !edge.is_out_of_reach},
                                          {"why", edge.why}});
  }
  return {{"table", one.table->name}, {"page", one.table->page},
          {"edges", one.total},       {"reached", one.reached},
          {"states", one.states},     {"states_reached", one.states_reached},
          {"not_reached", missing}};
}

}  // namespace

std::string json_of(const Report& report) {
  boost::json::array cases;
  for (const CaseResult& result : report.results) cases.push_back(object_of(result));
  boost::json::array clauses, states;
  for (const ClauseResult& clause : report.clauses()) clauses.push_back(object_of(clause));
  for (const TableCoverage& table : report.coverage) states.push_back(object_of(table));
  const boost::json::object out{{"target", report.target},
                                {"seed", report.seed},
                                {"passed", report.count(Verdict::kPass)},
                                {"failed", report.count(Verdict::kFail)},
                                {"warned", report.count(Verdict::kWarn)},
                                {"rejected", report.count(Verdict::kRejected)},
                                {"wedged", report.count(Verdict::kWedged)},
                                {"skipped", report.count(Verdict::kSkip)},
                                {"cases", cases},
                                {"clauses", clauses},
                                {"states", states}};
  return boost::json::serialize(out) + "\n";
}

}  // namespace splitnic::conformance
