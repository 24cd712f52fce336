#include "conformance/pools.h"

#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

constexpr std::uint64_t kPoolAddress = 0x7F0012340000;
constexpr std::uint32_t kPoolHandle = 0x2A01;

}  // namespace

messaging::PoolRecord own_pool(const End& end) {
  return {messaging::PoolRef(0),
          end.config().pool_elements,
          end.config().pool_element_bytes,
          fabric::MemoryHandle(kPoolHandle),
          fabric::VirtualAddress(kPoolAddress),
          0};
}

bool advertise(End& end) {
  const messaging::PoolRecord record = own_pool(end);
  return advertise(end, std::span(&record, 1));
}

bool advertise(End& end, std::span<const messaging::PoolRecord> pools) {
  ByteVector message(messaging::BufferRecvPool::bytes(pools.size()));
  messaging::BufferRecvPool::emit(messaging::kUnsolicited, pools, message);
  send_message(end, message);
  return await_message(end, messaging::Function::kBufferRecvPool, "BufferRecvPool of the target")
      .has_value();
}

}  // namespace splitnic::conformance
