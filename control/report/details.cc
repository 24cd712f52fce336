#include "control/report/details.h"

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <chrono>
#include <cstdio>
#include <string_view>

#include "control/report/json.h"
#include "control/report/text_table.h"

namespace splitnic::control {
namespace {

constexpr std::string_view kBytes = "_bytes";
constexpr std::string_view kSeconds = "_seconds";

}  // namespace

std::string span_text(base::Duration span) {
  const auto tenths = span / std::chrono::milliseconds(100);
  const auto seconds = tenths / 10;
  const auto two = [](auto first, const char* unit, auto second, const char* part) {
    return std::to_string(first) + unit + std::to_string(second) + part;
  };
  if (seconds < 10) return two(seconds, ".", tenths % 10, " s");
  if (seconds < 60) return std::to_string(seconds) + " s";
  if (seconds < 3600) return two(seconds / 60, " min ", seconds % 60, " s");
  if (seconds < 86400) return two(seconds / 3600, " h ", seconds % 3600 / 60, " min");
  return two(seconds / 86400, " d ", seconds % 86400 / 3600, " h");
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 3> kUnits{"KiB", "MiB", "GiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.1f %s", value, kUnits.at(unit));
  return out.data();
}

std::string name_text(const Detail& detail) {
  std::string name = detail.first;
  for (const std::string_view unit : {kBytes, kSeconds}) {
    if (name.ends_with(unit)) name.resize(name.size() - unit.size());
  }
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string value_text(const Detail& detail) {
  const auto& [name, value] = detail;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* is_so = std::get_if<bool>(&value)) return *is_so ? "yes" : "no";
  const std::uint64_t number = std::get<std::uint64_t>(value);
  if (name.ends_with(kBytes)) return size_text(number);
  if (name.ends_with(kSeconds)) return span_text(std::chrono::seconds(number));
  return std::to_string(number);
}

std::string detail_text(const Detail& detail) {
  return "  " + name_text(detail) + ": " + printable(value_text(detail)) + "\n";
}

boost::json::object details_json(const Details& details) {
  boost::json::object all;
  for (const auto& [name, value] : details) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      all[name] = json_string(*text);
    } else if (const auto* number = std::get_if<std::uint64_t>(&value)) {
      all[name] = *number;
    } else {
      all[name] = std::get<bool>(value);
    }
  }
  return all;
}

}  // namespace splitnic::control
