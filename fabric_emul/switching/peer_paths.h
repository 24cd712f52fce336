// The ways between an attached port and each of its peers: the partition, the LID of this port from
// which replies leave, and the number of LIDs of the peer's port. What is not as the default is
// kept for each peer, by its LID. Sans-I/O. Thread: the data thread.
// docs/protocol/path.md#all-paths docs/protocol/partition.md
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/clock.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/partition.h"
#include "fabric_emul/wire/port_lids.h"

namespace splitnic::fabric {

class PeerPaths {
 public:
  // The LIDs of a peer's port, where more than one is used.
  struct Paths {
    std::uint8_t lmc = 0;
    bool is_known = false;  // since the switch is there, and it has replied
    base::Time used_at{};   // by the peer
  };

  // `partitions` are those of the node.
  explicit PeerPaths(PartitionTable partitions) : partitions_(std::move(partitions)) {}

  // A control cell with this key has come. Returns false if no key of the node matches it.
  bool on_heard(Lid peer, PartitionKey key);
  // A peer gets replies in the partition in which it was heard, another one gets the first.
  PartitionKey partition_to(Lid peer) const;
  PartitionKey first_partition() const { return partitions_.first(); }

  // The peer has begun a link at this LID of the port, from where it gets replies.
  void on_link_begun(Lid peer, Lid own, Lid base);
  // Of the LIDs that the port has now.
  Lid own_lid_to(Lid peer, const PortLids& own) const;

  // All LIDs of the peer's port are used from now on: it is named so, or uses several of the own
  // LIDs. Returns true if it is a new one, of whose LIDs the switch is to be asked.
  bool use_all(Lid peer, base::Time now);
  // Returns false if nobody has asked for the LIDs of this peer.
  bool set_lmc(Lid peer, std::uint8_t lmc);
  // The number of LIDs that lead to the peer. One that has used several of the own ones, but
  // some time ago, has one, unless it is_named.
  unsigned count_to(Lid peer, bool is_named, base::Time now) const;
  // By the LID of the peer.
  std::map<Lid, Paths>& all() { return paths_; }

 private:
  static constexpr base::Duration kUnusedAfter = std::chrono::seconds(10);

  const PartitionTable partitions_;
  std::map<Lid, PartitionKey> in_partition_;  // peers in another one than the first
  std::map<Lid, Lid> called_at_;              // peers that know us by another LID than the base
  std::map<Lid, Paths> paths_;
};

}  // namespace splitnic::fabric
