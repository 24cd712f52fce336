// Makes text of a peer safe for logs, counter names and scripts: no line breaks, blanks or terminal
// codes.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/node_name.h"

namespace splitnic::messaging {

// Returns the node name cut to kNodeNameMax bytes, with '_' for every byte that the rule of
// base/node_name.h forbids.
inline std::string clean_node_name(std::string_view theirs) {
  std::string name(theirs.substr(0, base::kNodeNameMax));
  std::ranges::replace_if(
      name, [](char c) { return !base::is_node_name_char(c); }, '_');
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
