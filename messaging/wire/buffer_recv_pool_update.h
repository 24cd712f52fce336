// BufferRecvPoolUpdate (0x0003): the owner returns consumed elements, as ranges of one or
// several pools. It never exposes new memory. docs/protocol/pools.md#bufferrecvpoolupdate [S001-15]
//
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/endian.h"
#include "messaging/wire/record_message.h"

namespace splitnic::messaging {

struct ElementRange {
  static constexpr Function kFunction = Function::kBufferRecvPoolUpdate;
  static constexpr std::size_t kBytes = 12;

  PoolRef pool;
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // 0: all elements from `first`

  // All other rules need the pool table.
  static constexpr bool is_legal() { return true; }
  static ElementRange load(const std::byte* at) {
    return {PoolRef(base::load_be<std::uint32_t>(at)), base::load_be<std::uint32_t>(at + 4),
            base::load_be<std::uint32_t>(at + 8)};
  }
  void store(std::byte* at) const {
    base::store_be(at, pool.value);
    base::store_be(at + 4, first);
    base::store_be(at + 8, count);
  }
  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

using BufferRecvPoolUpdate = RecordMessage<ElementRange>;
static_assert(BufferRecvPoolUpdate::bytes(1) == 24);

}  // namespace splitnic::messaging
