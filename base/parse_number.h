// Numbers that people type: the whole text is one number in a range. Pure.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace splitnic::base {

// Returns the number if `text` is nothing but that, in decimal and without a plus sign, and it is
// from `min` to `max`. A double may have an exponent; NaN is in no range.
template <class Number>
std::optional<Number> parse_number(std::string_view text, Number min, Number max) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || !(number >= min && number <= max)) return std::nullopt;
  return number;
}

}  // namespace splitnic::base
