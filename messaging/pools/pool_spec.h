// The number and size of the elements that a side offers: `--pool COUNTxSIZE`.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "messaging/wire/idata.h"

namespace splitnic::messaging {

struct PoolSpec {
  std::uint32_t count = 0;
  std::uint32_t size = 0;     // bytes of one element
  std::uint64_t context = 0;  // 0: for every frame; else docs/protocol/channels.md#pool-contexts
  friend bool operator==(const PoolSpec&, const PoolSpec&) = default;
};
inline constexpr std::array kDefaultPools{PoolSpec{1024, 2048}, PoolSpec{64, 65536}};

// Returns pools of at most 256 elements with `spec.count` elements in all, so that idata of form A
// can name each element.
inline std::vector<PoolSpec> split(PoolSpec spec) {
  std::vector<PoolSpec> pools;
  while (spec.count != 0) {
    const std::uint32_t count = std::min(spec.count, kIdataElements);
    pools.push_back({count, spec.size, spec.context});
    spec.count -= count;
  }
  return pools;
}

}  // namespace splitnic::messaging
