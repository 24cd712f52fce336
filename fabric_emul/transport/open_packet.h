// The packet whose cells a responder is taking: what its first cell stated, and what has come of
// it.
#pragma once

#include <cstdint>
#include <optional>

#include "fabric_emul/wire/cell.h"

namespace splitnic::fabric {

struct OpenPacket {
  bool is_active = false;
  Op op = Op::kSend;
  VaMh target;
  std::uint64_t bytes = 0;  // placed so far
  std::optional<std::uint32_t> idata;
  PacketCrc crc;
  Lcn first_lcn;
};

}  // namespace splitnic::fabric
