// Numbers that people type: the whole text is one number in a range. Pure.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace splitnic::base {

// Returns the number if `text` is nothing but that, without a plus sign and, whatever the radix,
// without a prefix, and it is from `min` to `max`. A double is decimal and may have an exponent;
// NaN is in no range.
template <class Number>
std::optional<Number> parse_number(std::string_view text, Number min, Number max,
                                   [[maybe_unused]] int radix = 10) {
  Number number{};
  const char* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<Number>) {
    read = std::from_chars(text.data(), end, number);
  } else {
    read = std::from_chars(text.data(), end, number, radix);
  }
  const auto [at, error] = read;
  if (error != std::errc() || at != end || !(number >= min && number <= max)) return std::nullopt;
  return number;
}

}  // namespace splitnic::base
