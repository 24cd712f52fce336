// The ids of VLANs (IEEE 802.1Q). Id 0 is an untagged frame or a priority tag, and 4095 is
// reserved.
#pragma once

#include <cstdint>

namespace splitnic::lan {

inline constexpr std::uint16_t kVlanIdMax = 4094;

}  // namespace splitnic::lan
