// Carriers of one queue with the keys of the program on them, and the peers that may have sessions.
// A carrier that listens has those of allow() as well; one that connects has only the peer that it
// connects to. Each queue has sessions for itself, as it has sockets. Thread: the data thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "base/status.h"
#include "control/daemon/key_log_file.h"
#include "control/daemon/key_options.h"
#include "control/daemon/stamps.h"
#include "control/daemon/unknown_keys.h"
#include "fabric_emul/session/keyed_underlay.h"

namespace splitnic::control {

struct KeyedCarrier {
  fabric::Underlay* underlay = nullptr;    // with the keys on it
  std::vector<fabric::PeerAddress> peers;  // as the layers above know them
  std::uint64_t eui64 = 0;                 // follows from our key
  std::string public_key;                  // ours
};

class KeyedCarriers {
 public:
  // All outlive this. `instance` is that of the process.
  KeyedCarriers(const KeyOptions& options, std::uint64_t instance, std::uint32_t queue,
                base::Clock& clock, base::Random& random)
      : options_(options),
        instance_(instance),
        clock_(clock),
        random_(random),
        stamps_(stamp_path(queue), milliseconds_since_1970) {}

  // Sets where a peer may be; see SessionConfig. For carriers that are added from now on.
  void set_may_be_at(
      std::function<bool(const fabric::session::PublicKey&, const fabric::PeerAddress&)>
          may_be_at) {
    may_be_at_ = std::move(may_be_at);
  }
  // Reports keys that are not known to a carrier that listens, with what to do about one. The same.
  void report_unknown_keys(std::string advice) { advice_ = std::move(advice); }
  // A second process at `from` has the key of a peer that is at `at`. `who` is the same for one
  // peer as long as it is allowed. For carriers that are added from now on.
  using OnSecond = std::function<void(const void* who, const fabric::session::PublicKey& key,
                                      const std::string& at, const std::string& from)>;
  void set_on_second(OnSecond on_second) { on_second_ = std::move(on_second); }
  // Reads the key files and puts the keys on `below`, for these peers. With `endpoint`, every peer
  // is there and this side initiates. REQUIRES options.are_given().
  base::Result<KeyedCarrier> add(fabric::Underlay& below,
                                 std::span<const fabric::session::PublicKey> peers,
                                 const std::optional<fabric::PeerAddress>& endpoint);
  bool empty() const { return keyed_.empty(); }

  // -- on every carrier that listens --
  // A peer in addition to those of add(). An error: see SessionTable::allow().
  base::Status allow(const fabric::session::PublicKey& key);
  // Forgets a peer with its keys: what it sends is dropped silently.
  void disallow(const fabric::session::PublicKey& key);
  // Ends the sessions of a peer, which may begin another one.
  void end_session(const fabric::session::PublicKey& key);
  // The newest session of a peer; nothing if its key is not allowed.
  std::optional<fabric::session::KeyedUnderlay::PeerView> view_of(
      const fabric::session::PublicKey& key) const;
  // Returns the address of the peer at each carrier at which it has a session.
  std::vector<fabric::PeerAddress> endpoints_of(const fabric::session::PublicKey& key) const;

  // Whether keys are agreed with this peer, on any of the carriers.
  bool are_agreed(const fabric::PeerAddress& peer) const;
  void visit_counters(const base::CounterVisitor& visitor) const;

 private:
  void report_unknown(const fabric::session::PublicKey& key, const std::string& from);
  void report_fault(fabric::session::HandshakeFault fault, const fabric::session::PublicKey& key,
                    const std::string& from);

  const KeyOptions& options_;
  const std::uint64_t instance_;
  base::Clock& clock_;
  base::Random& random_;
  Stamps stamps_;
  fabric::session::Secret psk_;  // all zero: none
  std::optional<KeyLogFile> key_log_;
  std::function<bool(const fabric::session::PublicKey&, const fabric::PeerAddress&)> may_be_at_;
  std::string advice_;  // "": unknown keys are not reported
  UnknownKeys unknown_;
  // The time at which each was reported last.
  std::map<std::pair<fabric::session::HandshakeFault, fabric::session::PublicKey>, base::Time>
      faults_;
  OnSecond on_second_;
  std::vector<std::unique_ptr<fabric::session::KeyedUnderlay>> keyed_;
  std::vector<fabric::session::KeyedUnderlay*> listening_;
};

}  // namespace splitnic::control
