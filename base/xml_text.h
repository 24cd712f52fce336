// Text as XML and HTML have it between tags and in attributes.
#pragma once

#include <string>
#include <string_view>

namespace splitnic::base {

// Returns the text with "&", "<", ">" and double quotes as entities, and all other bytes as they
// are: whoever calls it has replaced those that XML does not have.
inline std::string escape_xml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace splitnic::base
