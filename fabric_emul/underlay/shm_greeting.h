// The first message on the socket of a shared-memory wire: the listener's descriptor of the segment
// and how long its rings are. The side that connects believes nothing of it that it has not
// checked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/unique_fd.h"

namespace splitnic::fabric {

// A power of two of 128 KiB to 64 MiB.
bool is_ring_length(std::uint64_t bytes);

bool send_greeting(int socket, int segment, std::size_t ring_bytes);

struct Greeted {
  enum class What { kNothingYet, kBad, kGood } what = What::kBad;
  base::UniqueFd segment;
  std::size_t ring_bytes = 0;
};

Greeted receive_greeting(int socket);

}  // namespace splitnic::fabric
