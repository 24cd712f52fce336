// The handshake on the socket of a shared-memory wire: one message, in which the listener passes
// the descriptor of the segment and the length of its rings. The connecting side validates all of
// it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/unique_fd.h"

namespace splitnic::fabric {

// A power of two of 128 KiB to 64 MiB.
bool is_ring_length(std::uint64_t bytes);

// Returns false if the socket did not take the whole message.
bool send_shm_handshake(int socket, int segment, std::size_t ring_bytes);

struct ShmHandshake {
  enum class Status {
    kPending,  // nothing has arrived yet
    kInvalid,
    kValid,
  } status = Status::kInvalid;
  base::UniqueFd segment;
  std::size_t ring_bytes = 0;
};

ShmHandshake receive_shm_handshake(int socket);

}  // namespace splitnic::fabric
