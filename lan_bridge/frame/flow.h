// The flow of a frame, as a number that is spread evenly over 32 bits: the same for all frames of a
// flow, so frames that are distributed by it stay in order. A flow is MAC addresses, ethertype and,
// where they are known, IP addresses, protocol and ports. Ports of fragments are ignored, and so
// are tags. Pure.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace splitnic::lan {

// `frame` is [virtio-net header][Ethernet frame]. Returns 0 if it does not parse.
std::uint32_t flow_of(base::Bytes frame);

}  // namespace splitnic::lan
