// The fields of a frame by which a flow is selected: ports of TCP and UDP, and the IPv4 address of
// the sender. A field that the frame does not have, such as the ports of a fragment, is 0. Pure.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace splitnic::lan {

struct FlowFields {
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint32_t source_address = 0;
  friend bool operator==(const FlowFields&, const FlowFields&) = default;
};

// `frame` is [virtio-net header][Ethernet frame].
FlowFields flow_fields_of(base::Bytes frame);

}  // namespace splitnic::lan
