#include "control/config/flush_request.h"

#include <limits>
#include <sstream>

#include "control/config/values.h"

namespace splitnic::control {

std::string text_of(const FlushRequest& request) {
  return std::to_string(request.pool) + " " + std::to_string(request.queue) +
         (request.is_of_peer ? " peer " : " own ") + request.peer;
}

base::Result<FlushRequest> parse_flush_request(const std::string& text) {
  std::istringstream words(text);
  std::string pool;
  std::string queue;
  std::string side;
  FlushRequest request;
  words >> pool >> queue >> side >> request.peer;
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto pool_number = parse_number(pool, kMost);
  const auto queue_number = parse_number(queue, kMost);
  if (!pool_number || !queue_number || (side != "own" && side != "peer")) {
    return base::Error("'" + text + "' is not POOL QUEUE own|peer [PEER]");
  }
  request.pool = static_cast<std::uint32_t>(*pool_number);
  request.queue = static_cast<std::uint32_t>(*queue_number);
  request.is_of_peer = side == "peer";
  return request;
}

}  // namespace splitnic::control
