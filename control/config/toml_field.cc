#include "control/config/toml_field.h"

#include <algorithm>
#include <string_view>

#include "control/config/values.h"

namespace splitnic::control {
namespace {

using Kind = TomlValue::Kind;

constexpr std::size_t kQuotedMax = 64;
constexpr std::size_t kReasonMax = 300;

std::string quoted(const std::string& text) {
  if (text.size() <= kQuotedMax) return "'" + text + "'";
  return "'" + text.substr(0, kQuotedMax) + "...'";
}

std::string shown(const TomlValue& value) {
  switch (value.kind) {
    case Kind::kText:
      return quoted(value.text);
    case Kind::kNumber:
      return std::to_string(value.number);
    case Kind::kFlag:
      return value.is_set ? "true" : "false";
    case Kind::kList:
      return "a list";
    case Kind::kTable:
      return "a table";
    case Kind::kOther:
      break;
  }
  return "a date, a time or a number with a fraction";
}

// Returns 0 for anything that is no suffix.
std::uint64_t multiplier(char suffix, std::uint64_t unit) {
  std::uint64_t product = 1;
  for (const char known : std::string_view("KMGT")) {
    product *= unit;
    if (known == suffix) return product;
  }
  return 0;
}

}  // namespace

base::Error TomlField::error(const std::string& why) const {
  std::string text = context_ + ": " + why.substr(0, kReasonMax);
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7F'; }, '?');
  return error_at(value_.at, text);
}

base::Error TomlField::is_not(const std::string& what) const {
  return error(shown(value_) + " is not " + what);
}

base::Result<std::uint64_t> TomlField::number(std::uint64_t min, std::uint64_t max,
                                              const std::string& what) const {
  const auto number = static_cast<std::uint64_t>(value_.number);
  if (value_.kind != Kind::kNumber || value_.number < 0 || number < min || number > max) {
    return is_not(what + " from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return number;
}

base::Result<bool> TomlField::flag() const {
  if (value_.kind != Kind::kFlag) return is_not("true or false");
  return value_.is_set;
}

base::Result<std::string> TomlField::text(const std::string& what) const {
  if (value_.kind != Kind::kText) return is_not(what);
  return {boost::system::in_place_value, value_.text};
}

base::Result<std::uint64_t> TomlField::size(std::uint64_t unit, std::uint64_t min,
                                            std::uint64_t max, const std::string& what) const {
  if (value_.kind == Kind::kNumber) {
    const auto number = static_cast<std::uint64_t>(value_.number);
    if (value_.number < 0 || number < min || number > max) return is_not(what);
    return number;
  }
  if (value_.kind != Kind::kText || value_.text.empty()) return is_not(what);
  std::string_view digits = value_.text;
  std::uint64_t factor = 1;
  if (const std::uint64_t found = multiplier(digits.back(), unit); found != 0) {
    factor = found;
    digits.remove_suffix(1);
  }
  const auto number = parse_number(digits, max / factor);
  if (!number || *number * factor < min) return is_not(what);
  return *number * factor;
}

base::Status TomlField::check_list(std::size_t max) const {
  if (value_.kind != Kind::kList) return is_not("a list");
  if (value_.inside.empty()) return error("the list is empty: leave the field out");
  if (value_.inside.size() > max) {
    return error("more than " + std::to_string(max) + " elements");
  }
  return {};
}

}  // namespace splitnic::control
