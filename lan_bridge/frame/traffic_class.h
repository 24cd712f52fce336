// The class of a frame, by which networks treat some frames better than others: the 802.1p priority
// of its outer tag, and the DSCP of its IP header (RFC 2474). Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace splitnic::lan {

struct TrafficClass {
  std::optional<std::uint8_t> priority{};    // 0 to 7; none: no tag
  std::optional<std::uint8_t> code_point{};  // 0 to 63; none: no IP
};

// `frame` is [virtio-net header][Ethernet frame]. Returns neither if it does not parse.
TrafficClass class_of(base::Bytes frame);

}  // namespace splitnic::lan
