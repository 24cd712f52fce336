#include "control/report/ping_json.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>
#include <cstdint>
#include <vector>

namespace splitnic::control {

std::string ping_json(const PingResult& result) {
  std::vector<base::Duration> sorted = result.round_trips;
  std::ranges::sort(sorted);
  boost::json::object out{{"sent", result.sent}, {"replied", sorted.size()}};
  if (!sorted.empty()) {
    out["min_ns"] = sorted.front().count();
    out["median_ns"] = sorted[(sorted.size() - 1) / 2].count();
    out["max_ns"] = sorted.back().count();
  }
  boost::json::array all;
  for (const base::Duration one : result.round_trips) all.emplace_back(one.count());
  out["round_trip_ns"] = std::move(all);
  return boost::json::serialize(out) + "\n";
}

std::optional<PingResult> parse_ping_json(const std::string& text) {
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(text, error);
  const boost::json::object* const object = error ? nullptr : parsed.if_object();
  if (object == nullptr) return std::nullopt;
  const boost::json::value* const sent = object->if_contains("sent");
  const boost::json::value* const times = object->if_contains("round_trip_ns");
  if (sent == nullptr || !sent->is_int64() || times == nullptr || !times->is_array())
    return std::nullopt;
  PingResult result;
  result.sent = static_cast<std::uint64_t>(sent->get_int64());
  for (const boost::json::value& one : times->get_array()) {
    if (!one.is_int64()) return std::nullopt;
    result.round_trips.emplace_back(one.get_int64());
  }
  return result;
}

}  // namespace splitnic::control
