// The transport services that a measurement may use: their words on the command line, the
// operations and lengths that they have by the tables of the library, and the order in which the
// queue pairs of RD send to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "fabric_emul/verbs/verbs.h"
#include "tools/bench/run.h"

namespace splitnic::bench {

// Of RD, at each end.
inline constexpr std::size_t kQueuePairsMax = 64;

// "rc", "uc", "ud" or "rd"; "" for any other service.
std::string_view word_of(fabric::Service service);
std::optional<fabric::Service> service_of(std::string_view word);

// Refused: an operation that the service does not have [S004-02], and a number of queue pairs that
// it cannot have.
base::Status check_run(fabric::Service service, Op op, std::size_t queue_pairs);
// Refused, as EMSGSIZE: a message that is longer than a cell of `mcp` bytes, on a service whose
// messages are one cell.
base::Status check_length(fabric::Service service, std::size_t bytes, std::uint16_t mcp);

// The queue pairs of message `number`, by their places among `count` at each end. Of `count`
// messages each is from another one and to another one; count * count use every pair once.
struct Places {
  std::size_t from = 0;
  std::size_t to = 0;
};
constexpr Places places_of(std::size_t number, std::size_t count) {
  const std::size_t from = number % count;
  return {from, (from + number / count) % count};
}

}  // namespace splitnic::bench
