#include "host_module/nic_report.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "control/json.h"
#include "control/text_table.h"

namespace splitnic::host {
namespace {

std::string text_of(const std::string& value) { return value; }
std::string text_of(std::uint64_t value) { return std::to_string(value); }
std::string text_of(bool value) { return value ? "yes" : "no"; }

std::string key_of(std::string name) {
  for (char& c : name) {
    if (c == ' ') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

}  // namespace

void NicReport::add(const std::string& name, std::uint64_t value) {
  const auto row = std::ranges::find_if(rows, [&](const auto& r) { return r.first == name; });
  if (row == rows.end()) {
    rows.emplace_back(name, value);
  } else if (auto* number = std::get_if<std::uint64_t>(&row->second)) {
    *number += value;
  }
}

std::string NicReport::text() const {
  std::string out = heading.empty() ? "" : heading + ":\n";
  for (const auto& [name, value] : rows) {
    const std::string shown = std::visit([](const auto& v) { return text_of(v); }, value);
    out += indent + control::printable(name) + ": " + control::printable(shown) + "\n";
  }
  return out;
}

std::string NicReport::json() const {
  boost::json::object all;
  for (const auto& [name, value] : rows) {
    const auto key = control::json_string(key_of(name));
    if (const auto* text = std::get_if<std::string>(&value)) {
      all[key] = control::json_string(*text);
    } else if (const auto* number = std::get_if<std::uint64_t>(&value)) {
      all[key] = *number;
    } else {
      all[key] = std::get<bool>(value);
    }
  }
  return boost::json::serialize(all) + "\n";
}

}  // namespace splitnic::host
