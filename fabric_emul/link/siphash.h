// SipHash-2-4 (Aumasson and Bernstein 2012): a keyed hash of 64 bits. Who does not have the key
// cannot compute it. Thread: any.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace splitnic::fabric {

struct SipKey {
  std::uint64_t k0 = 0, k1 = 0;
};
std::uint64_t siphash(const SipKey& key, base::Bytes bytes);

}  // namespace splitnic::fabric
