// The uplinks of a queue: its ways to the peers that the options name, of a host to its I/O units,
// of an I/O unit to its switches. A peer has a number, its place in the options. An uplink has a
// carrier; those of peers behind one port of a switch share one. A peer that cannot be reached at
// the start is awaited: its carrier is open and sends nothing before its name resolves to an
// address. Queue 0 follows the names while it runs, and the other queues follow queue 0. Thread:
// the main thread until the queue runs, then its data thread. [B-06] [B-07]
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "control/config/values.h"
#include "control/daemon/followed_names.h"
#include "control/daemon/name_lookup.h"

namespace splitnic::control {

class Uplinks {
 public:
  struct Peer {
    Endpoint endpoint;  // as in the options: may be a name, and empty if the peer announces itself
    std::string text;   // for the log, as "the I/O unit udp://unit.example:7471"
  };
  // The endpoint of each peer, with an address in place of a name, or none.
  using Endpoints = std::vector<std::optional<Endpoint>>;
  // The carriers, which are the owner's.
  struct Actions {
    // Opens the carrier to a peer and returns its number, that of another peer's if they share it.
    // `at` has an address, unless the peer is awaited.
    std::function<base::Result<std::size_t>(std::size_t peer, const Endpoint& at, bool is_awaited)>
        open;
    // Moves a carrier to another address of its peer.
    std::function<base::Status(std::size_t carrier, const Endpoint& to)> move;
  };

  Uplinks(std::vector<Peer> peers, Actions actions);

  // Opens the uplinks that are not open to peers with an address in `at`, which has one entry for
  // each peer. An error: the first, of those that cannot be opened. With `needs_all` false it is an
  // error only if none is open then, and the other peers are awaited, but for those at shm://. It
  // is an error in both cases that there are peers and none has an uplink.
  base::Status open(const Endpoints& at, bool needs_all);
  std::size_t size() const { return uplinks_.size(); }
  bool is_open(std::size_t peer) const { return uplinks_[peer].carrier.has_value(); }
  // Whether the uplink is open and leads nowhere yet.
  bool is_awaited(std::size_t peer) const { return is_open(peer) && !endpoints_[peer]; }
  // Returns the endpoints to which the uplinks lead now.
  const Endpoints& endpoints() const { return endpoints_; }
  // Logs which peers cannot be reached yet, or not before the next start.
  void warn_of_missing() const;

  // Leads the open uplinks to these endpoints of queue 0; what cannot be moved is logged.
  void lead(const Endpoints& to);
  // Follows the names of the peers from now on, and looks for those that are awaited. One lookup
  // for each peer.
  void follow_names(std::vector<std::unique_ptr<NameLookup>> lookups, base::Time now);
  bool follows_names() const { return !names_.empty(); }
  // Leads the uplinks of silent peers where their names lead now. Returns how many have moved.
  // `is_heard` of the number of a peer: it is heard where its uplink leads.
  std::size_t step(const std::function<bool(std::size_t)>& is_heard, base::Time now);
  // Of step().
  base::Time deadline() const { return names_.deadline(); }

 private:
  struct Uplink {
    Peer peer;
    std::optional<std::size_t> carrier;  // none: it is not open
  };

  bool has_any() const;
  void await_others();
  base::Status open_one(std::size_t peer, const Endpoint& at, bool is_awaited);
  base::Status lead_one(std::size_t peer, const Endpoint& to);
  bool is_first_of_carrier(std::size_t peer) const;

  Actions actions_;
  std::vector<Uplink> uplinks_;
  Endpoints endpoints_;
  FollowedNames names_;
};

}  // namespace splitnic::control
