// The initiator of one peer: sends INITIATION until a RESPONSE to the last one arrives, each with a
// new ephemeral key, a new index and a greater stamp, after 100 ms doubled up to 2 s, with up to a
// third more at random; more often where the peer may be back soon, but not sooner than 1.5 times
// what the last handshake took, 2 s at most. Sans-I/O. docs/protocol/session.md#timers
// Thread: the data thread.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/session/cookie.h"
#include "fabric_emul/session/index_table.h"
#include "fabric_emul/session/messages.h"
#include "fabric_emul/session/noise.h"
#include "fabric_emul/session/session_config.h"

namespace splitnic::fabric::session {

// The keys that both sides of a handshake with one peer use. The reference outlives it.
struct PeerKeys {
  const StaticKey& own;
  PublicKey peer;
  Secret psk;
  Secret shared;  // x25519 of both static keys
  MacKeys macs;   // for messages to the peer
};

// "splitnic session 1", the number of the cipher, and the public key of the responder.
std::array<std::byte, 51> prologue_for(const PublicKey& responder);

class Attempt {
 public:
  // Until when the peer may be back at any moment: INITIATION is repeated sooner.
  struct Return {
    base::Time expected_until;  // it stopped
    base::Time possible_until;  // it fell silent
  };

  // `responds_in`: what the last handshake with the peer took; 0: not known. `keys`, `config` and
  // `random` outlive this.
  Attempt(const PeerKeys& keys, const SessionConfig& config, base::Random& random, Return peer,
          base::Duration responds_in)
      : keys_(keys), config_(config), random_(random), return_(peer), responds_in_(responds_in) {}

  // Returns the next INITIATION, with this index. A cookie that is too old is not used.
  std::array<std::byte, kInitiationBytes> next(base::Time now, IndexTable::Index drawn);
  base::Time deadline() const { return retry_at_; }
  // When the last INITIATION was sent. REQUIRES one.
  base::Time sent_at() const { return sent_at_; }

  // Of the last INITIATION.
  std::uint32_t index() const { return index_.value(); }
  IndexTable::Index take_index() { return std::move(index_); }

  // Returns the keys if the RESPONSE is the peer's to the last INITIATION.
  std::optional<TransportKeys> read(base::Bytes response, ResponsePayload& payload) const;
  // Returns whether a reply with this index is for an INITIATION before the last one: then the peer
  // replies later than we wait, and from now on the waits are doubled in any case.
  bool notices_late(std::uint32_t index) {
    const bool is_late =
        std::ranges::find(earlier_, index, &IndexTable::Index::value) != earlier_.end();
    is_slow_ = is_slow_ || is_late;
    return is_late;
  }
  // Takes a COOKIE for the next INITIATION. Returns false if it is not for the last one.
  bool take_cookie(base::Time now, base::Bytes cookie);

 private:
  // Returns for how long to wait for a RESPONSE, after a wait for the one before.
  base::Duration wait_after(base::Duration before, base::Time now) const;

  const PeerKeys& keys_;
  const SessionConfig& config_;
  base::Random& random_;
  Return return_;
  base::Duration responds_in_;
  IndexTable::Index index_;
  std::array<IndexTable::Index, 32> earlier_;  // of the INITIATIONs before, the newest first
  bool is_slow_ = false;
  std::optional<NoiseInitiator> noise_;
  Mac mac1_{};
  std::optional<Mac> cookie_;
  base::Time cookie_until_{};
  base::Duration wait_{};
  base::Time sent_at_{}, retry_at_{};
};

}  // namespace splitnic::fabric::session
