// Decides which handshakes may cost a key agreement: the check of mac1, budgets, and cookies under
// load, as in WireGuard (Donenfeld, NDSS 2017). A reply is never longer than what it replies to.
// docs/protocol/session.md#load
// Thread: the data thread.
#pragma once

#include <cstdint>
#include <map>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "base/rate_limit.h"
#include "fabric_emul/session/cookie.h"
#include "fabric_emul/session/session_config.h"
#include "fabric_emul/session/session_counters.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric::session {

inline base::RateLimit rate_limit(std::uint32_t per_second, std::uint32_t burst) {
  return {base::Duration(std::chrono::seconds(1)) / per_second, burst};
}

// A budget for each source: an IPv4 address, a /64 of IPv6, or any other address as a whole.
class SourceLimits {
 public:
  static constexpr std::size_t kSourcesMax = 4096;

  SourceLimits(std::uint32_t per_second, std::uint32_t burst)
      : unused_(rate_limit(per_second, burst)) {}
  bool take(base::Time now, const PeerAddress& from);

 private:
  base::RateLimit unused_;  // the limit of a source that is not listed
  std::map<PeerAddress, base::RateLimit> sources_;
};

class HandshakeGate {
 public:
  enum class Verdict : std::uint8_t { kDrop, kCookie, kPass };

  // The references outlive this.
  HandshakeGate(const SessionConfig& config, const MacKeys& own, base::Random& random,
                base::Counters<SessionCounter>& counters);

  // Counts what it drops. kCookie: reply with cookie_for(). `is_peer_there`: a record of a peer was
  // good from this address, so that a flood without cookies does not end its session.
  Verdict check(base::Time now, base::Bytes initiation, const PeerAddress& from,
                bool is_peer_there);
  // The same for a RESPONSE to our attempt. Counts what it drops.
  bool may_agree(base::Time now);
  std::array<std::byte, kCookieBytes> cookie_for(base::Time now, base::Bytes initiation,
                                                 const PeerAddress& from);

 private:
  Verdict drop(SessionCounter cause);

  const SessionConfig& config_;
  const MacKeys& own_;
  base::Counters<SessionCounter>& counters_;
  base::RateLimit agreements_, cookies_;
  SourceLimits sources_;  // with a cookie
  // Addresses of peers, besides the budgets above, which strangers may use up: enough to renew
  // keys. The cookies are for whoever forges the address, too; to use one takes the address.
  SourceLimits peers_{5, 5}, cookies_of_peers_{100, 100};
  CookieJar jar_;
};

}  // namespace splitnic::fabric::session
