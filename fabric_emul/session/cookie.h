// The two authenticators at the end of INITIATION and RESPONSE, and the cookie that a busy
// responder hands out, as in WireGuard (Donenfeld, NDSS 2017). mac1 shows that the sender knows the
// public key of the receiver: it costs one HMAC to check, before any key agreement. mac2 shows that
// the sender receives at its address.
// docs/protocol/session.md#cookie  Pure: time and random numbers come in.
#pragma once

#include <array>
#include <chrono>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/session/crypto.h"
#include "fabric_emul/session/messages.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric::session {

// A cookie proves an address for this long; the responder draws a new secret as often.
inline constexpr base::Duration kCookieLifetime = std::chrono::seconds(120);

// The keys of mac1 in messages to one receiver, and of cookies from it. Both follow from its public
// key.
class MacKeys {
 public:
  explicit MacKeys(const PublicKey& receiver);
  Mac mac1(base::Bytes before_mac1) const;
  // Returns the key that the cookie for a message with this mac1 is sealed with.
  Secret cookie_key(const Mac& mac1) const;

 private:
  Bytes32 mac1_key_, cookie_key_;
};

// Writes mac1, and mac2 if there is a cookie, else zeros, into the last 32 bytes of the message.
void put_macs(base::MutableBytes message, const MacKeys& receiver, const Mac* cookie);
// REQUIRES a message of type INITIATION or RESPONSE.
bool has_mac1(base::Bytes message, const MacKeys& own);
Mac mac1_of(base::Bytes message);

// Responder.
class CookieJar {
 public:
  // `random` and `own` outlive this.
  CookieJar(base::Random& random, const MacKeys& own);

  // Returns whether mac2 shows that the sender got a cookie at this address.
  bool has_mac2(base::Time now, base::Bytes message, const PeerAddress& from);
  std::array<std::byte, kCookieBytes> reply(base::Time now, base::Bytes message,
                                            std::uint32_t receiver, const PeerAddress& from);

 private:
  Mac cookie_of(const Secret& secret, const PeerAddress& from) const;
  void renew(base::Time now);

  base::Random& random_;
  const MacKeys& own_;
  Secret current_, previous_;  // random from the start: nobody has a cookie under them yet
  base::Time renew_at_{};
};

// Initiator: returns the cookie in a reply to the message with this mac1; nothing if it is none.
std::optional<Mac> open_cookie(base::Bytes reply, const MacKeys& responder, const Mac& mac1);

}  // namespace splitnic::fabric::session
