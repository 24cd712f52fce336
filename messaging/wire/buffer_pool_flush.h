// BufferPoolFlushRequest (0x0004) and BufferPoolFlushReply (0x0005) end the use of pools. The
// layouts survived in seed 001. The reply has no status and no list: it is matched by the
// Transaction Context alone. The two directions number their pools separately, so bit 63 of
// the request's context identifies the owner of the pools: 0 = the sender's, 1 = the receiver's.
// docs/protocol/pools.md#bufferpoolflush [S001-16]
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/endian.h"
#include "messaging/wire/record_message.h"

namespace splitnic::messaging {

struct FlushRecord {
  static constexpr Function kFunction = Function::kBufferPoolFlushRequest;
  static constexpr std::size_t kBytes = 4;

  PoolRef pool;

  static constexpr bool is_legal() { return true; }
  static FlushRecord load(const std::byte* at) {
    return {PoolRef(base::load_be<std::uint32_t>(at))};
  }
  void store(std::byte* at) const { base::store_be(at, pool.value); }
  friend bool operator==(const FlushRecord&, const FlushRecord&) = default;
};

using BufferPoolFlushRequest = RecordMessage<FlushRecord>;
static_assert(BufferPoolFlushRequest::bytes(1) == 16);

inline constexpr std::uint64_t kFlushOfReceiversPools = std::uint64_t{1} << 63;
constexpr bool names_receivers_pools(TransactionContext context) {
  return (context.value & kFlushOfReceiversPools) != 0;
}
constexpr TransactionContext for_receivers_pools(TransactionContext context) {
  return TransactionContext(context.value | kFlushOfReceiversPools);
}

struct BufferPoolFlushReply {
  static constexpr std::size_t kBytes = kHeaderBytes;

  TransactionContext context;

  static Parsed<BufferPoolFlushReply> parse(base::Bytes message);
  // Returns kBytes. REQUIRES out.size() >= kBytes.
  std::size_t emit(base::MutableBytes out) const;
  friend bool operator==(const BufferPoolFlushReply&, const BufferPoolFlushReply&) = default;
};

}  // namespace splitnic::messaging
