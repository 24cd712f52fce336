// CRC-32C (Castagnoli, RFC 3720) over ISA-L. crc32c("123456789") = 0xE3069283.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace splitnic::base {

// The CRC of the bytes seen so far; extend() may be called any number of times, in order.
class Crc32c {
 public:
  void extend(Bytes bytes);
  std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = 0xFFFFFFFFU;
};

std::uint32_t crc32c(Bytes bytes);

}  // namespace splitnic::base
