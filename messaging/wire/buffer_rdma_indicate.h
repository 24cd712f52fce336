// BufferRDMAIndicate (0x0007): "these elements were consumed", for writes that do not fit the 32
// bits of idata. It is sent only after the RDMA write has completed, so the data is in place when
// the message is read. One record is one packet. docs/protocol/data.md#bufferrdmaindicate [S001-18]
// [S001-21]
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/endian.h"
#include "messaging/wire/record_message.h"

namespace splitnic::messaging {

struct ConsumedRecord {
  static constexpr Function kFunction = Function::kBufferRdmaIndicate;
  static constexpr std::size_t kBytes = 16;

  PoolRef pool;
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // >= 1
  std::uint32_t bytes = 0;  // >= 1

  // Whether `bytes` suits the element size is checked with the pool table.
  bool is_legal() const { return count != 0 && bytes != 0; }
  // Returns true if the bytes need all `count` elements and fit into them.
  bool fits(std::uint32_t element_bytes) const {
    return std::uint64_t{bytes} <= std::uint64_t{count} * element_bytes &&
           std::uint64_t{bytes} > std::uint64_t{count - 1} * element_bytes;
  }
  static ConsumedRecord load(const std::byte* at) {
    return {PoolRef(base::load_be<std::uint32_t>(at)), base::load_be<std::uint32_t>(at + 4),
            base::load_be<std::uint32_t>(at + 8), base::load_be<std::uint32_t>(at + 12)};
  }
  void store(std::byte* at) const {
    base::store_be(at, pool.value);
    base::store_be(at + 4, first);
    base::store_be(at + 8, count);
    base::store_be(at + 12, bytes);
  }
  friend bool operator==(const ConsumedRecord&, const ConsumedRecord&) = default;
};

using BufferRdmaIndicate = RecordMessage<ConsumedRecord>;
static_assert(BufferRdmaIndicate::bytes(1) == 28 &&
              BufferRdmaIndicate::records_max(kMsgMaxControl) == 255);

}  // namespace splitnic::messaging
