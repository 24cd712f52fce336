// Tokens of the INIT challenge, kept in no table: a keyed hash (SipHash-2-4) over who asks from
// where and whom it would replace. So hellos from forged addresses cost no memory, and an answer
// recorded before a restart is worth nothing after it. The key is drawn anew every kLifetime; the
// one before still counts.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/underlay/underlay.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

struct SipKey {
  std::uint64_t k0 = 0, k1 = 0;
};
std::uint64_t siphash(const SipKey& key, base::Bytes bytes);

class Challenge {
 public:
  static constexpr base::Duration kLifetime = std::chrono::seconds(5);

  struct Subject {
    PeerAddress address;
    Eui64 eui64;
    std::uint64_t instance = 0;
    std::uint64_t replaced_instance = 0;  // of the link that this EUI-64 has now; 0 = none
  };

  explicit Challenge(base::Random& random);
  std::uint64_t token(base::Time now, const Subject& subject);  // never 0
  bool accepts(base::Time now, const Subject& subject, std::uint64_t token);

 private:
  void renew(base::Time now);
  SipKey draw();

  base::Random& random_;
  SipKey current_, previous_;
  base::Time renew_at_{};
};

}  // namespace splitnic::fabric
