// The peers of one port and their handshakes: which keys are allowed, INITIATION, RESPONSE and
// COOKIE in both roles, retries and ends of keys. Nothing is sent to who is not allowed: all drops
// are silent, with one counter each. Sans-I/O: time and messages come in, messages go out through
// `send`. Thread: the data thread. docs/protocol/session.md
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/session/handshake_gate.h"
#include "fabric_emul/session/index_table.h"
#include "fabric_emul/session/peer.h"
#include "fabric_emul/session/session_config.h"
#include "fabric_emul/session/session_counters.h"

namespace splitnic::fabric::session {

class SessionTable {
 public:
  // Sends one datagram. What it cannot send is lost: timers repeat it.
  using Send = std::function<void(const PeerAddress& to, base::Bytes datagram)>;

  // `random` outlives this.
  SessionTable(const SessionConfig& config, base::Random& random, Send send);
  SessionTable(const SessionTable&) = delete;
  SessionTable& operator=(const SessionTable&) = delete;

  const PublicKey& public_key() const { return own_.public_key; }
  // Allows a peer. An error: its key is no point that a key can be agreed with, is our own, or is
  // there already.
  base::Status allow(const PeerConfig& peer);
  // Forgets a peer with its keys: from now on its key is unknown. No effect on an unknown one.
  void disallow(const PublicKey& key);
  // Returns the peer with this key; nullptr if it is not allowed.
  Peer* by_key(const PublicKey& key) const;
  bool may_be_at(const Peer& peer, const PeerAddress& at) const {
    return !config_.may_be_at || config_.may_be_at(peer.keys().peer, at);
  }

  Peer* by_address(const PeerAddress& address);
  const Peer* by_address(const PeerAddress& address) const;
  // Returns the peer that a record with this index is from; nullptr: none.
  Peer* by_index(std::uint32_t index) { return indexes_.find(index); }

  // Takes a datagram whose type is not DATA.
  void on_message(base::Time now, MessageType type, base::Bytes message, const PeerAddress& from);
  // A record of this peer under `keys` was good. REQUIRES keys from peer.opening().
  void on_record(base::Time now, Peer& peer, const RecordKeys& keys, bool is_highest,
                 std::uint8_t flags, const PeerAddress& from);
  // Something is to be sent to this peer: begins a handshake if one is due.
  void on_sending(base::Time now, Peer& peer);
  // Seals one datagram and sends it.
  void send_record(base::Time now, Peer& peer, RecordKeys& keys, base::Bytes plain);

  // Retries, and ends of keys. Cheap before deadline().
  void on_time(base::Time now);
  base::Time deadline() const { return deadline_; }
  base::Counters<SessionCounter>& counters() { return counters_; }
  const base::Counters<SessionCounter>& counters() const { return counters_; }

 private:
  void on_initiation(base::Time now, base::Bytes message, const PeerAddress& from);
  void accept(base::Time now, base::Bytes message, const PeerAddress& from);
  void report(HandshakeFault fault, const Peer& peer, const PeerAddress& from) const;
  void on_response(base::Time now, base::Bytes message);
  void on_cookie(base::Time now, base::Bytes message);
  void begin_attempt(base::Time now, Peer& peer);
  void send_initiation(base::Time now, Peer& peer);
  // The peer with an attempt of this index; nullptr: none. Only a message with mac1 may show that
  // replies come late.
  Peer* initiating(std::uint32_t index, bool has_mac1);
  // The state of a peer changed: its deadline may be another.
  void call_for(const Peer& peer) { deadline_ = std::min(deadline_, peer.deadline()); }

  const SessionConfig config_;
  base::Random& random_;
  const Send send_;
  const StaticKey own_;
  const MacKeys own_macs_;
  base::Counters<SessionCounter> counters_;
  IndexTable indexes_;
  HandshakeGate gate_;
  std::map<PublicKey, std::unique_ptr<Peer>> peers_;
  std::map<PeerAddress, Peer*> by_address_;
  std::map<PeerAddress, const Peer*> by_endpoint_;  // of peers that initiate: where they were last
  bool is_responder_ = false;                       // some peer initiates
  Peer* last_ = nullptr;  // most batches are for the peer of the batch before
  std::vector<std::byte> record_;
  base::Time deadline_ = base::kNever;
};

}  // namespace splitnic::fabric::session
