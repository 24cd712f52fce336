// Offloads that a frame may use; the bits are also the feature mask of INIT_NIC and SET_OFFLOADS.
#pragma once

#include <cstdint>

namespace splitnic::lan {

enum Offload : std::uint32_t {
  kOffloadChecksum = 1U << 0,
  kOffloadTso4 = 1U << 1,
  kOffloadTso6 = 1U << 2,
  kOffloadUso = 1U << 3,
  kOffloadVlan = 1U << 4,
  kOffloadQueues = 1U << 5,
  kOffloadVnet = 1U << 6,  // the virtio-net header precedes every frame
};

// Super-frames need partial checksums: without the checksum bit none of the three is in force.
constexpr std::uint32_t offloads_in_force(std::uint32_t mask) {
  return (mask & kOffloadChecksum) != 0 ? mask
                                        : mask & ~(kOffloadTso4 | kOffloadTso6 | kOffloadUso);
}

}  // namespace splitnic::lan
