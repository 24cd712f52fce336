// Which flow a frame belongs to, as a number that is spread evenly over 32 bits: the same for all
// frames of a flow, so whoever sends by it keeps their order. A flow is MAC addresses, ethertype,
// and what is known of IP addresses, protocol and ports. Fragments have no ports, whatever they
// carry. Tags do not count. Pure.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace splitnic::lan {

// `frame` is [virtio-net header][Ethernet frame]; one that does not parse is of flow 0.
std::uint32_t flow_of(base::Bytes frame);

}  // namespace splitnic::lan
