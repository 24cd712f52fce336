// BufferRecvPool (0x0001): the owner advertises pools. A pool is an array of equal elements,
// element i at address + i * element_bytes. One record of 8 words per pool.
// docs/protocol/pools.md#bufferrecvpool [S001-11]
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric_emul/wire/ids.h"
#include "messaging/wire/record_message.h"

namespace splitnic::messaging {

inline constexpr std::uint64_t kPoolBytesMax = std::uint64_t{1} << 48;

struct PoolRecord {
  static constexpr Function kFunction = Function::kBufferRecvPool;
  static constexpr std::size_t kBytes = 32;

  PoolRef pool;
  std::uint32_t elements = 0;
  std::uint32_t element_bytes = 0;
  fabric::MemoryHandle handle;
  fabric::VirtualAddress address;
  std::uint64_t pool_context = 0;  // opaque: no check uses it [S001-12]

  std::uint64_t total_bytes() const { return std::uint64_t{elements} * element_bytes; }
  // REQUIRES element < elements.
  fabric::VirtualAddress element_address(std::uint32_t element) const {
    return fabric::VirtualAddress(address.value + std::uint64_t{element} * element_bytes);
  }
  // Returns true if the pool has at least one byte and at most 2^48, and its end does not wrap.
  bool is_legal() const;
  static PoolRecord load(const std::byte* at);
  void store(std::byte* at) const;
  friend bool operator==(const PoolRecord&, const PoolRecord&) = default;
};

using BufferRecvPool = RecordMessage<PoolRecord>;
static_assert(BufferRecvPool::bytes(1) == 44 && BufferRecvPool::records_max(kMsgMaxControl) == 127);

}  // namespace splitnic::messaging
