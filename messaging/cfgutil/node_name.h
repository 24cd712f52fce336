// Makes text of a peer safe for logs, counter names and scripts: no line breaks, blanks or terminal
// codes.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace splitnic::messaging {

inline constexpr std::size_t kNodeNameMax = 64;

// Returns the node name with the restrictions of our own --name: at most 64 bytes, letters, digits,
// '.', '_' and '-', and no '.' in front. Every other byte becomes '_'.
inline std::string clean_node_name(std::string_view theirs) {
  std::string name(theirs.substr(0, kNodeNameMax));
  std::ranges::replace_if(
      name,
      [](char c) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        return !is_letter && !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-';
      },
      '_');
  if (name.starts_with('.')) name.front() = '_';
  return name;
}

// Returns a line for our log: printable ASCII, at most 200 characters.
inline std::string clean_line(std::string_view theirs) {
  std::string line(theirs.substr(0, 200));
  std::ranges::replace_if(
      line, [](char c) { return c < ' ' || c > '~'; }, '_');
  return line;
}

}  // namespace splitnic::messaging
