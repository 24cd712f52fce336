// The agreement that an end asks for; by default the one that every target has. A case changes it
// before it connects. docs/protocol/channels.md#arrangements
#pragma once

#include <cstdint>
#include <string>

#include "fabric_emul/wire/cell.h"

namespace splitnic::conformance {

// MSG_MAX of channel 0 that an end states.
inline constexpr std::uint32_t kOwnMessageMax = 4096;

struct Terms {
  enum class Channels : std::uint8_t {
    kTwo,
    kOne,       // channel 0 carries the data too
    kSeparate,  // mode send: a connection for each
  };
  Channels channels = Channels::kTwo;
  unsigned connecting = 0;  // kSeparate: the channel of the next CONNECT
  // Of INIT: the lanes, and in the full profile the blocks of each data lane that are granted.
  std::uint16_t lanes = 0x800F;
  std::uint32_t granted_blocks = 4096;
  std::uint32_t receive_buffer_bytes = 4 << 20;
  std::uint16_t mcp_max = fabric::kMcpMax;  // of CONNECT
  std::uint16_t pair_flags = 0;             // of CONNECT: fabric::kPairPacketCrc
  std::uint32_t idata_form_in = 0;          // connect::IdataForm, of writes into our pools
  bool selects_flows = false;               // by the contexts of our pools
};

// As an end of mode rdma states them; of mode send for Channels::kSeparate.
std::string capabilities_of(const Terms& terms);

}  // namespace splitnic::conformance
