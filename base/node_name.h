// The rule for names of nodes: 1 to 64 letters, digits, '.', '_' and '-', with no '.' in front.
// Such a name is safe as part of a path, in a log line and in the name of a counter. It holds for
// --name and for the default name; the name that a peer announces is cleaned to fit it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
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

// Returns the text cut to kNodeNameMax bytes, with '_' for every byte that the rule forbids; empty
// only if `text` is.
inline std::string clean_node_name(std::string_view text) {
  std::string name(text.substr(0, kNodeNameMax));
  std::ranges::replace_if(
      name, [](char c) { return !is_node_name_char(c); }, '_');
  if (name.starts_with('.')) name.front() = '_';
  return name;
}

inline constexpr std::size_t kProgramNameMax = 64;

// Returns the name and version of a program as a peer states them, cut to kProgramNameMax bytes,
// with '_' for every byte that is not printable ASCII: safe in a log line and on a terminal.
inline std::string clean_program_name(std::string_view text) {
  std::string name(text.substr(0, kProgramNameMax));
  std::ranges::replace_if(
      name, [](char c) { return c < ' ' || c > '~'; }, '_');
  return name;
}

}  // namespace splitnic::base
