// Tokens of the INIT challenge, kept in no table: a keyed hash over the sender's identity and
// address and the instance it would replace. So HELLOs from forged addresses cost no memory, and an
// ANSWER recorded before a restart is worth nothing after it. The key is renewed every kLifetime;
// the previous one is still accepted.
// Thread: the data thread. docs/protocol/init.md#init
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/link/siphash.h"
#include "fabric_emul/underlay/underlay.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

class Challenge {
 public:
  static constexpr base::Duration kLifetime = std::chrono::seconds(5);

  struct Subject {
    PeerAddress address;
    Eui64 eui64;
    std::uint64_t instance = 0;
    std::uint64_t replaced_instance = 0;  // of the peer that has this EUI-64 now; 0 = none
  };

  explicit Challenge(base::Random& random);
  // Returns the token to challenge this sender with; never 0.
  std::uint64_t token(base::Time now, const Subject& subject);
  bool accepts(base::Time now, const Subject& subject, std::uint64_t token);

 private:
  void renew(base::Time now);
  SipKey draw();

  base::Random& random_;
  SipKey current_, previous_;
  base::Time renew_at_{};
};

}  // namespace splitnic::fabric
