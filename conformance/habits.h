// The habits of an end: all of it that every end does unasked. A case switches some off.
#pragma once

#include <cstdint>

namespace splitnic::conformance {

struct Habits {
  bool keeps_alive = true;  // IDLE, and what the lanes have to send
  bool acknowledges = true;
  bool acknowledges_data = true;       // on the channel of data, where that is not channel 0
  std::uint16_t receive_credits = 64;  // of ACKs
  bool replies_to_probes = true;
  bool replies_to_requests = true;
  bool replies_to_flushes = true;
  bool replies_to_disc = true;
};

}  // namespace splitnic::conformance
