// The length of the reply to LIST_NICS, which bounds the number of NICs that an I/O unit may have:
// a reply is one message. docs/protocol/cfgutil.md#codes Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splitnic::messaging {

// Returns the bytes of the longest ListNicsReply with NICs 0 to `nics` - 1. MTU and speed may be
// any numbers of 32 bits, and one NIC is in use, since a connection has one. REQUIRES nics > 0.
constexpr std::size_t list_nics_bytes_max(std::uint32_t nics) {
  constexpr std::size_t kKey = 1;   // number and type of a field
  constexpr std::size_t kSize = 1;  // of a field of fewer than 128 bytes
  constexpr std::size_t kFlag = kKey + 1;
  constexpr std::size_t kNumber = kKey + 5;  // a varint has 7 bits in each byte
  constexpr std::size_t kMac = kKey + kSize + 6;
  constexpr std::size_t kLink = kKey + kSize + kFlag + kNumber + kFlag;
  std::size_t number = kKey + 1;  // of the NIC
  for (std::uint32_t rest = (nics - 1) >> 7; rest > 0; rest >>= 7) ++number;
  return nics * (kKey + kSize + number + kMac + kNumber + kLink) + kFlag;
}

}  // namespace splitnic::messaging
