// idata: the 32 bits of an RDMA write that name the element that was filled and the number of
// bytes, so that data and indication are one fabric operation. Form A names pool, element and size;
// form B an offset in the only pool exposed in that direction, and a length. A write that fits
// neither is indicated by BufferRDMAIndicate. docs/protocol/data.md#idata [S001-19] [S001-20]
//
#pragma once

#include <cstdint>
#include <optional>

#include "messaging/wire/message_header.h"

namespace splitnic::messaging {

enum class IdataForm : std::uint8_t { kPoolElement, kOffsetLength };  // A, B; per direction

// Form A has 8 bits for a pool reference and 8 for an element.
inline constexpr std::uint32_t kIdataPools = 256;
inline constexpr std::uint32_t kIdataElements = 256;
inline constexpr std::uint32_t kIdataBytesMax = 65536;                        // coded as 0
inline constexpr std::uint32_t kOffsetUnit = 64;                              // form B
inline constexpr std::uint64_t kOffsetPoolBytesMax = std::uint64_t{4} << 20;  // form B

// Form A   31..24 pool reference | 23..16 element, from zero | 15..0 bytes stored
struct PoolElementIdata {
  std::uint8_t pool = 0;
  std::uint8_t element = 0;
  std::uint32_t bytes = 0;  // 1..65536

  // Returns true if form A can name every element of the pool; otherwise BufferRDMAIndicate is
  // used.
  static constexpr bool suits(PoolRef pool, std::uint32_t elements, std::uint32_t element_bytes) {
    return pool.value < kIdataPools && elements <= kIdataElements &&
           element_bytes <= kIdataBytesMax;
  }
  // Returns nothing if a value exceeds its field.
  static constexpr std::optional<std::uint32_t> encode(PoolRef pool, std::uint32_t element,
                                                       std::uint32_t bytes) {
    if (pool.value >= kIdataPools || element >= kIdataElements) return std::nullopt;
    if (bytes == 0 || bytes > kIdataBytesMax) return std::nullopt;
    return pool.value << 24 | element << 16 | (bytes & 0xFFFFU);
  }
  static constexpr PoolElementIdata decode(std::uint32_t idata) {
    const std::uint32_t size = idata & 0xFFFFU;
    return {static_cast<std::uint8_t>(idata >> 24), static_cast<std::uint8_t>(idata >> 16 & 0xFFU),
            size == 0 ? kIdataBytesMax : size};
  }
  friend bool operator==(const PoolElementIdata&, const PoolElementIdata&) = default;
};

// Form B   31..16 offset from the base of the pool in units of 64 bytes | 15..0 bytes stored
struct OffsetLengthIdata {
  std::uint32_t offset = 0;  // bytes from the base of the pool
  std::uint32_t bytes = 0;   // 1..65536

  static constexpr bool suits(std::uint64_t pool_bytes, std::uint32_t element_bytes) {
    return pool_bytes <= kOffsetPoolBytesMax && element_bytes % kOffsetUnit == 0 &&
           element_bytes <= kIdataBytesMax;
  }
  static constexpr std::optional<std::uint32_t> encode(std::uint64_t offset, std::uint32_t bytes) {
    if (offset % kOffsetUnit != 0 || offset >= kOffsetPoolBytesMax) return std::nullopt;
    if (bytes == 0 || bytes > kIdataBytesMax) return std::nullopt;
    return static_cast<std::uint32_t>(offset / kOffsetUnit) << 16 | (bytes & 0xFFFFU);
  }
  static constexpr OffsetLengthIdata decode(std::uint32_t idata) {
    const std::uint32_t size = idata & 0xFFFFU;
    return {(idata >> 16) * kOffsetUnit, size == 0 ? kIdataBytesMax : size};
  }
  friend bool operator==(const OffsetLengthIdata&, const OffsetLengthIdata&) = default;
};

static_assert(PoolElementIdata::encode(PoolRef(7), 5, 256) == 0x07050100U);

}  // namespace splitnic::messaging
