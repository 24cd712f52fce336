// The node name that a peer says of itself, as it may stand in logs and counter names: at most 64
// bytes, letters, digits, '.', '_' and '-' and no '.' in front, as for our own --name. Every other
// byte becomes '_', so a peer can put no line, blank or terminal code where people and scripts
// read.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace splitnic::messaging {

inline constexpr std::size_t kNodeNameMax = 64;

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

// A line of the peer's for our log: printable ASCII, at most 200 characters.
inline std::string clean_line(std::string_view theirs) {
  std::string line(theirs.substr(0, 200));
  std::ranges::replace_if(
      line, [](char c) { return c < ' ' || c > '~'; }, '_');
  return line;
}

}  // namespace splitnic::messaging
