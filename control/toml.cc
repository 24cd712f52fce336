#include "control/toml.h"

#define TOML_EXCEPTIONS 0
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace splitnic::control {
namespace {

// Each dot of a name may be one more table in a table; toml++ 3.3 bounds only other nesting.
constexpr std::uint32_t kDotsMax = 64;

TomlPlace place_of(const toml::source_region& region) {
  return {static_cast<std::uint32_t>(region.begin.line),
          static_cast<std::uint32_t>(region.begin.column)};
}

// Returns the place of the first dot that is too many in its line. Strings are followed to the end
// of their line: what a string of several lines has behind it counts as outside.
std::optional<TomlPlace> too_many_dots(std::string_view text) {
  TomlPlace at{1, 0};
  std::uint32_t dots = 0;
  char quote = 0;
  bool is_escaped = false;
  bool is_comment = false;
  for (const char c : text) {
    ++at.column;
    if (c == '\n') {
      at = {at.line + 1, 0};
      dots = 0;
      quote = 0;
      is_escaped = is_comment = false;
    } else if (quote != 0) {
      if (c == quote && !is_escaped) quote = 0;
      is_escaped = c == '\\' && !is_escaped && quote == '"';
    } else if (!is_comment) {
      if (c == '"' || c == '\'') quote = c;
      is_comment = c == '#';
      if (c == '.' && ++dots > kDotsMax) return at;
    }
  }
  return std::nullopt;
}

TomlValue value_of(const toml::node& node);

std::vector<TomlValue> values_of(const toml::table& table) {
  std::vector<TomlValue> all;
  for (const auto& [key, node] : table) {
    TomlValue value = value_of(node);
    value.name = std::string(key.str());
    value.name_at = place_of(key.source());
    all.push_back(std::move(value));
  }
  std::ranges::stable_sort(all, {}, [](const TomlValue& value) {
    return std::tuple(value.name_at.line, value.name_at.column);
  });
  return all;
}

TomlValue value_of(const toml::node& node) {
  TomlValue value;
  value.at = place_of(node.source());
  if (const auto* text = node.as_string()) {
    value.kind = TomlValue::Kind::kText;
    value.text = text->get();
  } else if (const auto* number = node.as_integer()) {
    value.kind = TomlValue::Kind::kNumber;
    value.number = number->get();
  } else if (const auto* flag = node.as_boolean()) {
    value.kind = TomlValue::Kind::kFlag;
    value.is_set = flag->get();
  } else if (const auto* list = node.as_array()) {
    value.kind = TomlValue::Kind::kList;
    for (const toml::node& element : *list) value.inside.push_back(value_of(element));
  } else if (const auto* table = node.as_table()) {
    value.kind = TomlValue::Kind::kTable;
    value.inside = values_of(*table);
  }
  return value;
}

}  // namespace

base::Error error_at(const TomlPlace& at, const std::string& why) {
  return base::Error("line " + std::to_string(at.line) + ", column " + std::to_string(at.column) +
                     ": " + why);
}

base::Result<TomlValue> parse_toml(std::string_view text) {
  if (const auto at = too_many_dots(text)) {
    return error_at(
        *at, "more than " + std::to_string(kDotsMax) + " dots outside of strings in one line");
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return error_at(place_of(parsed.error().source()), std::string(parsed.error().description()));
  }
  return value_of(parsed.table());
}

}  // namespace splitnic::control
