// Bounds the memory that the owner of pools grants to BufferRecvPoolGet requests of one peer.
// Thread: the data thread. docs/protocol/pools.md#more-pools [S001-13]
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "messaging/pools/pool_spec.h"
#include "messaging/wire/buffer_recv_pool_get.h"
#include "messaging/wire/idata.h"

namespace splitnic::messaging {

class GrantBudget {
 public:
  static constexpr std::size_t kElementsMax = 512;
  static constexpr std::size_t kPoolsMax = 16;  // each uses two entries of the adapter's table

  explicit GrantBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Returns the pool that satisfies the request, or nothing if it exceeds what is left.
  std::optional<PoolSpec> pool_for(const BufferRecvPoolGet& request) const {
    const std::uint64_t size = base::round_up(request.packet_bytes, 64);
    const bool fits = pools_ < kPoolsMax && request.packets <= kIdataElements &&
                      size <= kIdataBytesMax && elements_ + request.packets <= kElementsMax &&
                      bytes_ + size * request.packets <= bytes_max_;
    if (!fits) return std::nullopt;
    return PoolSpec{request.packets, static_cast<std::uint32_t>(size)};
  }
  // The pool was made.
  void take(const PoolSpec& pool) {
    ++pools_;
    elements_ += pool.count;
    bytes_ += std::size_t{pool.count} * pool.size;
  }

 private:
  std::size_t bytes_max_;
  std::size_t pools_ = 0, elements_ = 0, bytes_ = 0;
};

}  // namespace splitnic::messaging
