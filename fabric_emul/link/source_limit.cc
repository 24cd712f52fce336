#include "fabric_emul/link/source_limit.h"

#include <bit>
#include <cstring>

namespace splitnic::fabric {

static_assert(std::has_single_bit(SourceLimit::kPlaces));

SourceLimit::SourceLimit(base::Random& random)
    : places_(kPlaces, base::RateLimit(kInterval, kBurst)) {
  for (Hash& hash : hashes_) {
    for (std::uint64_t& factor : hash.factors) factor = random.next();
  }
}

std::size_t SourceLimit::Hash::place_of(const PeerAddress& address) const {
  std::array<std::uint32_t, kWords> words;
  std::memcpy(words.data(), address.bytes.data(), sizeof(words));
  std::uint64_t sum = factors[kWords];
  for (std::size_t i = 0; i < kWords; ++i) sum += factors[i] * words[i];
  return sum >> (64 - std::countr_zero(kPlaces));
}

bool SourceLimit::take(base::Time now, const PeerAddress& from) {
  return places_[hashes_[0].place_of(from)].take(now) ||
         places_[hashes_[1].place_of(from)].take(now);
}

}  // namespace splitnic::fabric
