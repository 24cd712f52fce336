// TOML as plain values, each with its place in the text: what --config and --hosts read. The parser
// is toml++, which only toml.cc includes. Nesting is bounded, so no text exhausts the stack. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace splitnic::control {

// From 1; a column is a character.
struct TomlPlace {
  std::uint32_t line = 0, column = 0;
};

struct TomlValue {
  enum class Kind : std::uint8_t { kText, kNumber, kFlag, kList, kTable, kOther };
  Kind kind = Kind::kOther;
  TomlPlace at;
  std::string name;   // in its table; "" in a list
  TomlPlace name_at;  // of the name
  std::string text;
  std::int64_t number = 0;
  bool is_set = false;
  std::vector<TomlValue> inside;  // of a list; of a table, in the order of the text
};

enum class TomlStrings : std::uint8_t { kUtf8, kAscii };
// Returns the table of the whole text. An error begins as error_at() does. A text with characters
// beyond ASCII in strings is refused with kAscii; outside of strings and comments always.
base::Result<TomlValue> parse_toml(std::string_view text, TomlStrings strings = TomlStrings::kUtf8);
// "line 3, column 7: why"
base::Error error_at(const TomlPlace& at, const std::string& why);

}  // namespace splitnic::control
