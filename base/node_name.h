// The rule for names of nodes: 1 to 64 letters, digits, '.', '_' and '-', with no '.' in front.
// Such a name is safe as part of a path, in a log line and in the name of a counter. It holds for
// --name and for the name that a peer announces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace splitnic::base {

inline constexpr std::size_t kNodeNameMax = 64;

constexpr bool is_node_name_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '_' || c == '-';
}

constexpr bool is_node_name(std::string_view text) {
  return !text.empty() && text.size() <= kNodeNameMax && text[0] != '.' &&
         std::ranges::all_of(text, is_node_name_char);
}

}  // namespace splitnic::base
