#include "control/config/toml.h"

// toml++ 3.3 asserts what a text may violate, such as the first character of "[!x]", and makes it
// an assumption of the compiler with NDEBUG. It reports an error behind each, so nothing is
// asserted.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <algorithm>
#include <tuple>

namespace splitnic::control {
namespace {

// Each dot of a name may be one more table in a table; toml++ 3.3 bounds only other nesting.
constexpr std::uint32_t kDotsMax = 64;

TomlPlace place_of(const toml::source_region& region) {
  return {static_cast<std::uint32_t>(region.begin.line),
          static_cast<std::uint32_t>(region.begin.column)};
}

// Refuses what the parser does not withstand, and what neither file needs: names of very many parts
// and, outside of strings and comments, characters beyond ASCII, on which toml++ 3.3 has undefined
// behaviour. A quote in the middle of a value begins a string here and not there, so a caller may
// refuse them in strings, too. Strings have one line, so that both end them with it.
class Screen {
 public:
  explicit Screen(TomlStrings strings) : strings_(strings) {}
  base::Status check(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    for (; !text.empty(); text.remove_prefix(1)) {
      const char c = text.front();
      if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80) ++at_.column;
      if (c == '\n') {
        if (line_.quote != 0) return unended();
        at_ = {at_.line + 1, 0};
        line_ = {};
      } else if (line_.quote != 0) {
        if (is_beyond_ascii(c) && strings_ == TomlStrings::kAscii) {
          return error_at(at_, "a character beyond ASCII outside of a comment");
        }
        follow_string(c);
      } else if (!line_.is_comment) {
        if (auto checked = check_outside(text); !checked) return checked;
      }
    }
    return line_.quote != 0 ? unended() : base::Status();
  }

 private:
  struct Line {
    std::uint32_t dots = 0;
    char quote = 0;  // of the string that is open
    TomlPlace quote_at;
    bool is_escaped = false;
    bool is_comment = false;
  };

  // The parser would report the end of the line, and call that a control character.
  base::Status unended() const {
    return error_at(line_.quote_at, "the string that begins here does not end in its line");
  }
  static bool is_beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }
  void follow_string(char c) {
    const bool is_end = c == line_.quote && !line_.is_escaped;
    line_.is_escaped = c == '\\' && line_.quote == '"' && !line_.is_escaped;
    if (is_end) line_.quote = 0;
  }
  base::Status check_outside(std::string_view rest) {
    const char c = rest.front();
    if (is_beyond_ascii(c)) {
      return error_at(at_, "a character beyond ASCII outside of a string");
    }
    if (rest.starts_with("\"\"\"") || rest.starts_with("'''")) {
      return error_at(at_, "a string of several lines: write it in one");
    }
    if (c == '.' && ++line_.dots > kDotsMax) {
      return error_at(
          at_, "more than " + std::to_string(kDotsMax) + " dots outside of strings in one line");
    }
    if (c == '"' || c == '\'') {
      line_.quote = c;
      line_.quote_at = at_;
    }
    line_.is_comment = c == '#';
    return {};
  }

  const TomlStrings strings_;
  TomlPlace at_{1, 0};
  Line line_;
};

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

base::Result<TomlValue> parse_toml(std::string_view text, TomlStrings strings) {
  if (auto checked = Screen(strings).check(text); !checked) return checked.error();
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return error_at(place_of(parsed.error().source()), std::string(parsed.error().description()));
  }
  return value_of(parsed.table());
}

}  // namespace splitnic::control
