#include "control/report/json.h"

#include <cstddef>

namespace splitnic::control {
namespace {

// Returns the length of the UTF-8 sequence at the start of `text`, or 0 if there is none: overlong
// forms, surrogates and numbers above U+10FFFF are none (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if ((first & 0xF0U) == 0xE0) {
    const bool is_overlong = first == 0xE0 && at(1) < 0xA0;
    const bool is_surrogate = first == 0xED && at(1) >= 0xA0;
    return continues(1) && continues(2) && !is_overlong && !is_surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool is_overlong = first == 0xF0 && at(1) < 0x90;
    const bool is_beyond = first == 0xF4 && at(1) >= 0x90;
    return continues(1) && continues(2) && continues(3) && !is_overlong && !is_beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

boost::json::string json_string(std::string_view text) {
  boost::json::string out;
  while (!text.empty()) {
    const std::size_t bytes = utf8_length(text);
    out.append(bytes == 0 ? "\xEF\xBF\xBD" : text.substr(0, bytes));
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

}  // namespace splitnic::control
