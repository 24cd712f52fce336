// CRC-32C (Castagnoli) over ISA-L. check("123456789") = 0xE3069283. Section 3.4 of the formats.
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
