// How many elements of which size a side offers: `--pool COUNTxSIZE`.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace splitnic::messaging {

struct PoolSpec {
  std::uint32_t count = 0;
  std::uint32_t size = 0;  // bytes of one element
  friend bool operator==(const PoolSpec&, const PoolSpec&) = default;
};
inline constexpr std::array kDefaultPools{PoolSpec{1024, 2048}, PoolSpec{64, 65536}};
// Pools of at most 256 elements, so that each can be used with idata.
std::vector<PoolSpec> split(PoolSpec spec);

}  // namespace splitnic::messaging
