// Bytes as hexadecimal digits, two for each byte.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "base/bytes.h"

namespace splitnic::base {

// In small letters.
inline void put_hex(std::string& to, Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    to += kDigits[value >> 4];
    to += kDigits[value & 15U];
  }
}

// Fills `out` from twice as many digits, small or capital ones. Returns false, with `out`
// unspecified, if the text is no such digits or has another length.
inline bool parse_hex(std::string_view text, MutableBytes out) {
  if (text.size() != 2 * out.size()) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint8_t value = 0;
    const char* const begin = text.data() + 2 * i;
    const auto read = std::from_chars(begin, begin + 2, value, 16);
    if (read.ec != std::errc() || read.ptr != begin + 2) return false;
    out[i] = std::byte{value};
  }
  return true;
}

}  // namespace splitnic::base
