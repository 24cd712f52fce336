// One peer: the keys of its records, which may be of up to three handshakes, and where it is.
//   current   seals; opens
//   previous  opens for 10 s more
//   next      responder: opens; becomes current with its first good record, which shows that the
//             initiator has the keys, too. Until then the handshake has changed nothing.
// A peer that initiates may move; one that we initiate to is where it was configured.
// Thread: the data thread. docs/protocol/session.md#keys
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "fabric_emul/session/attempt.h"
#include "fabric_emul/session/record_keys.h"
#include "fabric_emul/session/session_config.h"
#include "fabric_emul/session/session_counters.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric::session {

// Returns the address of a peer for the layers above: it follows from its key, so it stays when the
// peer is at another address of the underlay.
PeerAddress address_of(const PublicKey& key);
// The EUI-64 of the node with this key; never 0.
std::uint64_t eui64_of(const PublicKey& key);

class Peer {
 public:
  // `own`, `config` and `counters` outlive this.
  Peer(const StaticKey& own, const PeerConfig& peer, const Secret& shared,
       const SessionConfig& config, base::Counters<SessionCounter>& counters);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const PeerKeys& keys() const { return keys_; }
  const PeerAddress& address() const { return address_; }
  // The address of the peer; nothing before it is known.
  const std::optional<PeerAddress>& endpoint() const { return endpoint_; }
  bool is_initiator() const { return is_initiator_; }
  bool has_session(base::Time now) const { return current_ && current_->may_seal(now, 1); }

  // Returns the keys to seal `records` records with; nullptr if there are none.
  RecordKeys* sealing(base::Time now, std::size_t records);
  // The flags of our next record.
  std::uint8_t flags(base::Time now) const;
  // Returns the keys with this local index; nullptr if they are not of this peer any more.
  RecordKeys* opening(std::uint32_t index);
  // A record under `keys` was good. Returns whether endpoint() changed by it. REQUIRES keys from
  // opening().
  bool on_record(base::Time now, const RecordKeys& keys, bool is_highest, std::uint8_t flags,
                 const PeerAddress& from);

  // Initiator.
  std::optional<Attempt>& attempt() { return attempt_; }
  // Returns whether a handshake must begin now that something is to be sent: there are no keys, or
  // others are due, or nothing was heard for SessionConfig::silence.
  bool wants_attempt(base::Time now) const;
  // Returns whether a handshake must begin, whatever is sent: the keys are old, or the responder
  // asks for others.
  bool is_rekey_due(base::Time now) const;
  // The RESPONSE was good; ends the attempt. REQUIRES one.
  void install(base::Time now, std::unique_ptr<RecordKeys> keys);
  // A datagram that waits for keys; the last one is kept. `bytes` is empty: forgets it.
  void keep(base::Bytes bytes);
  base::Bytes kept() const { return kept_; }

  // Responder.
  std::uint64_t stamp() const { return stamp_; }
  // Returns whether the peer has a session and was heard just now.
  bool is_in_use(base::Time now) const { return current_ && now - heard_ < config_.in_use; }
  // Returns whether the session is that of the process `instance`. REQUIRES a session.
  bool is_with(std::uint64_t instance) const { return current_->peer_instance() == instance; }
  // A process at `from` has the key, too.
  void report_second_process(const PeerAddress& from) const {
    if (config_.on_second_process) config_.on_second_process(*this, from);
  }
  // INITIATION with this stamp was accepted.
  void offer(std::uint64_t stamp, std::unique_ptr<RecordKeys> keys);

  // Returns when the current or last keys became current; nothing if there never were any.
  const std::optional<base::Time>& agreed_at() const { return agreed_at_; }
  // Ends all keys, and the attempt to get others.
  void end_session();
  // Initiator: the peer has ended, and its keys with it. It is expected back for some time.
  void on_stopped(base::Time now);
  // Initiator: until when the peer, which stopped or fell silent, may be back at any moment.
  Attempt::Return may_return() const;
  // Initiator: from INITIATION to its RESPONSE, the shorter of the last two handshakes: one may
  // have waited for the start of the peer. 0 before the first one.
  base::Duration responds_in() const { return responds_in_; }

  // Ends keys that are beyond their time.
  void on_time(base::Time now);
  // Returns when on_time(), or a new attempt, is due.
  base::Time deadline() const;

 private:
  // Returns true if the instance was that of the session before another one. Remembers it.
  bool is_back(std::uint64_t instance);
  // `keys` become current.
  void change_to(base::Time now, std::unique_ptr<RecordKeys> keys);

  const SessionConfig& config_;
  base::Counters<SessionCounter>& counters_;
  PeerKeys keys_;
  PeerAddress address_;
  std::optional<PeerAddress> endpoint_;
  bool is_initiator_;
  std::unique_ptr<RecordKeys> current_, previous_, next_;
  base::Time previous_until_{};
  std::optional<base::Time> agreed_at_;
  base::Time heard_{};
  base::Duration responds_in_{}, last_response_in_{};
  bool is_rekey_requested_ = false;
  std::optional<Attempt> attempt_;
  std::vector<std::byte> kept_;
  std::uint64_t stamp_ = 0;
  std::array<std::uint64_t, 8> instances_{};  // responder: of the last sessions, the newest first
  base::Time expected_until_{};
};

}  // namespace splitnic::fabric::session
