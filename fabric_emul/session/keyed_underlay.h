// The decorator that seals what the link sends and opens what arrives: above it are datagrams of
// flits as ever, below it only INITIATION, RESPONSE, COOKIE and DATA. A batch of stride S leaves as
// one batch of stride S + 32, sealed out of place, so that no copy is added. What arrives is passed
// up only if its record is good, and as from the address of its key (Peer::address): a peer that
// moves to another address of the underlay stays the same to the link. A batch that blocks is kept
// with its records until the link retries or forgets it, because the carrier may have sent some.
// Thread: one owner, the data thread. docs/protocol/session.md
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/session/record_run.h"
#include "fabric_emul/session/session_config.h"
#include "fabric_emul/session/session_table.h"
#include "fabric_emul/underlay/underlay_decorator.h"

namespace splitnic::fabric::session {

class KeyedUnderlay final : public UnderlayDecorator {
 public:
  // `below`, `clock` and `random` outlive this. REQUIRES that this processor has config.provider.
  KeyedUnderlay(Underlay& below, const SessionConfig& config, base::Clock& clock,
                base::Random& random);

  // See SessionTable. Returns the address that the peer has above.
  base::Result<PeerAddress> allow(const PeerConfig& peer);
  // Forgets a peer and its keys; what arrives from it is dropped silently from now on.
  void disallow(const PublicKey& key) { table_.disallow(key); }
  // Ends the keys of a peer that stays allowed: it needs another handshake.
  void end_session(const PublicKey& key);
  struct PeerView {
    std::optional<PeerAddress> endpoint;  // where it is, of the underlay below
    std::optional<base::Time> agreed_at;  // when its keys became current
  };
  // Nothing if the key is not allowed.
  std::optional<PeerView> view_of(const PublicKey& key) const;
  const PublicKey& public_key() const { return table_.public_key(); }
  // Whether records can be sent to this peer now.
  bool has_session(const PeerAddress& peer);
  const base::Counters<SessionCounter>& counters() const { return table_.counters(); }

  // kRefused: there is no session with this peer. The last short datagram waits for the keys.
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override;
  void forget(base::Bytes batch) override;
  // Handshakes, and the record that ends one, have that of control.
  void set_dscp(std::uint8_t of_batches, std::uint8_t of_control) override;
  // Of a peer that this side initiates to: its keys end.
  void on_peer_stopped(const PeerAddress& peer) override;
  std::optional<Received> receive() override;
  base::Time deadline() const override;
  PathKind path_kind(const PeerAddress& to) const override;
  std::size_t datagram_bytes_max(const PeerAddress& to) const override;
  // Smaller than below, so that a batch of 64 datagrams is not longer there with its overhead.
  std::size_t batch_bytes_max() const override;
  // The address of the underlay where the peer is now.
  std::string name_of(const PeerAddress& peer) const override;
  std::optional<std::uint64_t> eui64_of(const PeerAddress& peer) const override;
  std::string key_of(const PeerAddress& peer) const override;

 private:
  // A batch of several datagrams that blocked, sealed.
  struct Blocked {
    base::Bytes plain;  // where it is, which identifies it; not read
    PeerAddress to;
    std::vector<std::byte> sealed;
  };
  // Moves the records of this batch from blocked_ to sealed_. Returns false if there are none.
  bool take_blocked(const Peer& peer, base::Bytes bytes);
  std::vector<Blocked>::iterator find_blocked(base::Bytes bytes);
  // Opens datagrams of rest_ until it is empty or a record of another peer follows.
  Received open_batch(base::Time now);
  RecordRun begin_run(std::uint32_t index);
  // Appends the plaintext of a record to what is opened. Returns false if it is from another peer
  // than the records before it.
  bool open_record(base::Time now, base::Bytes record, RecordRun& run, Received& opened);

  base::Clock& clock_;
  SessionTable table_;
  std::uint8_t batch_dscp_ = 0, control_dscp_ = 0;
  std::vector<std::byte> sealed_, opened_;
  std::vector<Blocked> blocked_;  // at most one of each link
  std::size_t opened_bytes_ = 0;
  Received rest_;  // of the batch below, not opened yet
};

}  // namespace splitnic::fabric::session
