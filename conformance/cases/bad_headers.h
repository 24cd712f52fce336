// Virtio-net headers of frames that a receiver must drop where no offload but VNET was granted.
// docs/protocol/data.md#frame
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/cases/parts.h"

namespace splitnic::conformance {

struct BadHeader {
  std::string name, what;
  std::array<std::uint8_t, kVnetBytes> bytes{};
};

inline std::vector<BadHeader> bad_headers() {
  return {{"gso", "a segmentation that was not granted", {0, 1, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0}},
          {"gso_unknown",
           "a segmentation that does not exist",
           {0, 0x55, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}},
          {"csum_behind",
           "a checksum behind its end",
           {1, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0}}};
}

// REQUIRES a frame with its virtio-net header.
inline ByteVector with_header(const BadHeader& header, ByteVector bytes) {
  for (std::size_t i = 0; i < header.bytes.size(); ++i) {
    bytes.at(i) = std::byte{header.bytes.at(i)};
  }
  return bytes;
}

}  // namespace splitnic::conformance
