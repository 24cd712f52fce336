#include "messaging/wire/buffer_recv_pool.h"

#include <limits>

#include "base/endian.h"

namespace splitnic::messaging {

bool PoolRecord::is_legal() const {
  if (elements == 0 || element_bytes == 0) return false;
  const std::uint64_t total = total_bytes();  // the product of two 32-bit factors cannot wrap
  return total <= kPoolBytesMax &&
         address.value <= std::numeric_limits<std::uint64_t>::max() - total;
}

PoolRecord PoolRecord::load(const std::byte* at) {
  PoolRecord r;
  r.pool = PoolRef(base::load_be<std::uint32_t>(at));
  r.elements = base::load_be<std::uint32_t>(at + 4);
  r.element_bytes = base::load_be<std::uint32_t>(at + 8);
  r.handle = fabric::MemoryHandle(base::load_be<std::uint32_t>(at + 12));
  r.address = fabric::VirtualAddress(base::load_be<std::uint64_t>(at + 16));
  r.pool_context = base::load_be<std::uint64_t>(at + 24);
  return r;
}

void PoolRecord::store(std::byte* at) const {
  base::store_be(at, pool.value);
  base::store_be(at + 4, elements);
  base::store_be(at + 8, element_bytes);
  base::store_be(at + 12, handle.value);
  base::store_be(at + 16, address.value);
  base::store_be(at + 24, pool_context);
}

}  // namespace splitnic::messaging
