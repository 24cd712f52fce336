// "HOST:PORT" and "[V6]:PORT", as people type them. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace splitnic::base {

// Parts of the text, not checked further: the port is not empty, the host may be. Without brackets
// the host has no colon.
struct HostPort {
  std::string_view host;
  std::string_view port;
  bool is_bracketed = false;
};

inline std::optional<HostPort> split_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return std::nullopt;
  HostPort split{text.substr(0, colon), text.substr(colon + 1)};
  if (split.host.starts_with('[')) {
    if (split.host.find(']') != split.host.size() - 1) return std::nullopt;
    split.host = split.host.substr(1, split.host.size() - 2);
    split.is_bracketed = true;
  } else if (split.host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  return split;
}

}  // namespace splitnic::base
