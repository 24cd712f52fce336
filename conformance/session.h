// The initiator's end of a keyed link, from the formats of fabric_emul/session and without its
// state machine: any INITIATION, any record. docs/protocol/session.md
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/bytes.h"
#include "base/random.h"
#include "conformance/records.h"
#include "fabric_emul/session/cookie.h"
#include "fabric_emul/session/messages.h"
#include "fabric_emul/session/noise.h"

namespace splitnic::conformance {

// The keys of one host of the suite.
struct HostKeys {
  session::Secret own;
  session::PublicKey target;
  session::Secret psk;  // all zero: none
};

class Session final : public Records {
 public:
  using Initiation = std::array<std::byte, session::kInitiationBytes>;
  // Returns a number that is greater than all before it: milliseconds since 1970 serve.
  using Stamp = std::function<std::uint64_t()>;

  // `random` outlives this. REQUIRES a target whose key is no point of low order.
  Session(const HostKeys& keys, base::Random& random, Stamp stamp);

  // A fresh INITIATION; a RESPONSE to an earlier one is not accepted any more. `stamp`: in place of
  // the next one. `own`: another private key, as of a stranger.
  Initiation initiation(std::optional<std::uint64_t> stamp = {},
                        const session::Secret* own = nullptr);
  // Takes the keys of the RESPONSE to the last INITIATION. Returns false if it is none.
  bool take_response(base::Bytes datagram);
  // Takes the cookie of a target under load: the next INITIATION has it. Returns false if it is
  // none.
  bool take_cookie(base::Bytes datagram);
  // A new process of the host: another instance, and no keys.
  void begin_process();
  std::uint32_t attempt() const { return attempt_; }
  std::uint64_t last_stamp() const { return last_stamp_; }

  const session::PublicKey& public_key() const { return own_.public_key; }
  const session::PublicKey& target() const { return target_; }

 private:
  base::Random& random_;
  const Stamp stamp_;
  session::StaticKey own_;
  session::PublicKey target_;
  session::Secret psk_, shared_;
  std::uint64_t instance_;
  std::uint64_t last_stamp_ = 0;
  // Of the last INITIATION.
  std::optional<session::NoiseInitiator> noise_;
  std::uint32_t attempt_ = 0;
  session::Mac mac1_{};
  std::optional<session::Mac> cookie_;
};

}  // namespace splitnic::conformance
