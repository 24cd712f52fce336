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

// "rc", "uc", "ud", "rd" or "stream"; "" for any other service.
std::string_view word_of(fabric::Service service);
std::optional<fabric::Service> service_of(std::string_view word);

// Retransmits what the path loses.
constexpr bool is_reliable(fabric::Service service) {
  return fabric::is_acknowledged(service) || service == fabric::Service::kStream;
}
// Has no connection of two queue pairs: each message names its destination.
constexpr bool is_datagram(fabric::Service service) {
  return service == fabric::Service::kUd || service == fabric::Service::kRd;
}

// Refused: an operation that the service does not have [S004-02], and a number of queue pairs that
// it cannot have.
base::Status check_run(fabric::Service service, Op op, std::size_t queue_pairs);
// Refused: a FetchOp of another length than that of its word.
base::Status check_size(Op op, std::size_t bytes);
// Refused: more pieces than a work request or a message has, and several of an operation that has
// one: a FetchOp, and a read on STREAM.
base::Status check_pieces(const Run& run);
// Its messages are one cell, by the table of operations and services.
bool is_one_cell(fabric::Service service, Op op);
// Refused, as EMSGSIZE: a message that is longer than a cell of `mcp` bytes and must be one.
base::Status check_length(fabric::Service service, Op op, std::size_t bytes, std::uint16_t mcp);

// The queue pairs of message `number`, by their places among `count` at each end. Of `count`
// messages each is from another one and to another one; count * count use every pair once.
struct Places {
  std::size_t from = 0;
  std::size_t to = 0;
};
constexpr Places places_of(std::size_t number, std::size_t count) {
  if (count == 1) return {};  // short messages would notice the divisions
  const std::size_t from = number % count;
  return {from, (from + number / count) % count};
}

}  // namespace splitnic::bench
