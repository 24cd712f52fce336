// `splitnic flush POOL`, as the command sends it to the program: the end of one pool while its
// connection continues. docs/CLI.md
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace splitnic::control {

// The `what` of the request to set.
inline constexpr const char* kFlushSetting = "flush";

struct FlushRequest {
  std::uint32_t pool = 0;
  std::uint32_t queue = 0;
  bool is_of_peer = false;  // the pool is the peer's, not that of the program
  std::string peer{};       // at an I/O unit the name of the host; empty: the only one
  friend bool operator==(const FlushRequest&, const FlushRequest&) = default;
};

// The value of the request: POOL QUEUE own|peer [PEER].
std::string text_of(const FlushRequest& request);
base::Result<FlushRequest> parse_flush_request(const std::string& text);

}  // namespace splitnic::control
