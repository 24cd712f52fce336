// Limits the replies to each source of INIT, in a table of fixed size. A source takes from two
// places, which a secret hash of its address selects, and has to wait while both are empty: so who
// sends without pause leaves the others their replies. Who forges addresses empties many places,
// and then the limit of the whole port counts. [M-5] [M-6]
// Thread: the data thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/rate_limit.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric {

class SourceLimit {
 public:
  static constexpr base::Duration kInterval = std::chrono::milliseconds(5);  // of a place
  static constexpr std::uint32_t kBurst = 128;
  static constexpr std::size_t kPlaces = 512;

  explicit SourceLimit(base::Random& random);
  // Returns whether the source may have a reply now, and counts it if so.
  bool take(base::Time now, const PeerAddress& from);

 private:
  static constexpr std::size_t kWords = sizeof(PeerAddress::bytes) / sizeof(std::uint32_t);
  // Multiply-shift for vectors (Dietzfelbinger, 1996): two addresses have one place with a
  // probability of 2 / kPlaces, whatever they are, for who does not know the factors.
  struct Hash {
    std::array<std::uint64_t, kWords + 1> factors{};
    std::size_t place_of(const PeerAddress& address) const;
  };

  std::array<Hash, 2> hashes_;
  std::vector<base::RateLimit> places_;
};

}  // namespace splitnic::fabric
