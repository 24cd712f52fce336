// Settings of the session layer of one port: own key, timers and limits. docs/protocol/session.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "fabric_emul/session/aead.h"
#include "fabric_emul/session/crypto.h"
#include "fabric_emul/session/key_log.h"
#include "fabric_emul/session/secret.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric::session {

class Peer;

// The reasons why a handshake with the key of a peer fails in a way that its operator can mend.
enum class HandshakeFault : std::uint8_t {
  kStamp,     // INITIATION is older than one before it, and no session is in use
  kAddress,   // the peer may not be there
  kResponse,  // RESPONSE is for our INITIATION and does not open: another pre-shared key
};

struct RecordLimits {
  base::Duration rekey_after = std::chrono::seconds(120);
  base::Duration reject_after = std::chrono::seconds(180);
  // The AEAD limits of RFC 9001, appendix B.1, for records of up to 2 KiB; longer records count 32
  // times.
  std::uint64_t rekey_records = std::uint64_t{1} << 27;
  std::uint64_t reject_records = std::uint64_t{1} << 28;
  std::uint64_t failed_opens_max = std::uint64_t{1} << 52;
};
inline constexpr std::size_t kShortRecordBytes = 2048;
inline constexpr std::uint64_t kLongRecordWeight = 32;

struct SessionConfig {
  Secret private_key;
  std::uint64_t instance = 0;  // of this process
  AeadProvider provider = AeadProvider::kOpenSsl;
  RecordLimits records;
  // Takes the keys of the records of each handshake, of both directions. Empty: nobody gets them.
  std::function<void(const KeyLogEntry&)> log_key = {};

  // Initiator.
  // Returns a number that is greater than all before it, also those of earlier processes with this
  // key: milliseconds since 1970 serve.
  std::function<std::uint64_t()> stamp;
  base::Duration retry_min = std::chrono::milliseconds(100);
  base::Duration retry_max = std::chrono::seconds(2);
  // A responder that stopped may be back soon: INITIATION is repeated so often, for so long.
  base::Duration retry_after_end = std::chrono::milliseconds(50);
  base::Duration return_expected = std::chrono::seconds(1);
  // The same of one that fell silent, whose machine may start it again: INITIATION is repeated
  // after retry_silent at most, for so long after its last record.
  base::Duration retry_silent = std::chrono::milliseconds(200);
  base::Duration return_possible = std::chrono::seconds(5);
  // Something is sent and nothing has been heard for this long: the responder may have lost the
  // keys.
  base::Duration silence = std::chrono::milliseconds(400);
  // Earlier keys open records for this long after new ones.
  base::Duration previous_kept = std::chrono::seconds(10);

  // Responder. A key agreement takes about 0.2 ms.
  std::uint32_t agreements_per_second = 200;
  std::uint32_t agreements_burst = 50;
  std::uint32_t cookies_below = 25;  // with fewer left of the burst, a cookie is required
  std::uint32_t cookies_per_second = 1000;
  std::uint32_t source_per_second = 20;  // of one address (IPv4), or one /64 (IPv6)
  std::uint32_t source_burst = 5;
  // Returns whether the peer with this key may be at this address of the underlay. Empty: anywhere.
  std::function<bool(const PublicKey& key, const PeerAddress& at)> may_be_at = {};
  // Hears of an INITIATION with a key that is not allowed, as often as key agreements are. Whoever
  // has the public key of this side can cause it, with any key. Empty: nobody hears of it.
  std::function<void(const PublicKey& key, const PeerAddress& from)> on_unknown_key = {};
  // Hears of a handshake with the key of `peer` that failed, as often as key agreements are.
  // Whoever repeats or forges datagrams of the peer can cause it. Empty: nobody hears of it.
  std::function<void(HandshakeFault fault, const PublicKey& peer, const PeerAddress& from)>
      on_fault = {};
  // A session is in use for so long after its last record.
  base::Duration in_use = std::chrono::seconds(1);
  // A process at `from` has the key of `peer`, which another process uses: it was refused, or took
  // back the session that it had before. Empty: nobody is notified.
  std::function<void(const Peer& peer, const PeerAddress& from)> on_second_process = {};
};

// A node that may have a session with this one.
struct PeerConfig {
  PublicKey key;
  Secret psk;  // all zero: none
  // The address where the peer listens: this side initiates. Without it the peer initiates.
  std::optional<PeerAddress> endpoint;
};

}  // namespace splitnic::fabric::session
