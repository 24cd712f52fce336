// A port of an end node that is attached to a switch. To the layers above it is an underlay whose
// addresses are ports of the fabric: a peer is a LID, whatever link its cells come by, and what is
// sent to it leaves by the one link to the switch. So a Port above has a link for each peer, with
// INIT, keep-alive and path probes from end to end, and knows no switch.
//   down: the cells of a datagram leave as they are; INIT and IDLE in a management cell to QP 0
//   up:   cells are handed over by the LID that sent them, unchanged
// On a hop of the full profile a lane that has no room is one of blocked_lanes(), and the layers
// above continue on the others [S000-40].
// The LID of the port is the switch's to assign, at INIT, or the subnet manager's, by SMP
// (node_agent.h), and it may have more behind it (fabric_emul/wire/port_lids.h). A peer is named,
// and the switch resolves the name. A node with several queues has an attachment for each, which
// reaches the same queue of its peers (queue_lid.h). There are as many paths as the peer's port has
// LIDs, if the peer was named with path=all or used several of our LIDs; what the link sends itself
// goes by all of them. A peer in another subnet has a LID that is valid here only
// (network_layer.h). Thread: the data thread. docs/protocol/path.md docs/protocol/network.md
// docs/adr/0008-a-path-is-not-a-link.md
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "fabric_emul/link/port.h"
#include "fabric_emul/link/refusal_log.h"
#include "fabric_emul/switching/attachment_counters.h"
#include "fabric_emul/switching/network_layer.h"
#include "fabric_emul/switching/node_agent.h"
#include "fabric_emul/underlay/underlay_decorator.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/mgmt.h"
#include "fabric_emul/wire/port_lids.h"

namespace splitnic::fabric {

class Attachment final : public UnderlayDecorator, private LinkObserver {
 public:
  // Connects to the switch at this address of the carrier from now on. `hop` is the port that does:
  // it does not listen. All outlive this. With `queue` above 0 a
  // port of the switch that is not for such a queue is returned, and not used. `partitions` are
  // those of the node; what is for a name leaves in the first one. `name` is what the subnet
  // manager reads as that of the program: a node name.
  Attachment(Underlay& carrier, const PeerAddress& switch_at, const PortConfig& hop,
             base::Clock& clock, base::Random& random, std::uint32_t queue = 0,
             PartitionTable partitions = {}, std::string name = "node");

  // Returns the address that stands for our queue of the node of this name by this path, the same
  // each time: what is sent to it is refused until the switch has resolved the name. REQUIRES a
  // node name, and one path of a node at a time, or kAllPaths.
  PeerAddress peer(const std::string& node, unsigned path = 0);
  // The place of this node in the network. It is the leg to a LAN from become_leg() on.
  const NetworkLayer& network() const { return network_; }
  void become_leg() { network_.become_leg(); }
  PortLids own_lids() const { return {base_lid(), lmc_}; }
  // For PortConfig::lids of the port above.
  std::optional<LinkLids> lids_of(const PeerAddress& peer) const;
  bool is_attached() const {
    return link_->up() && link_->peer_port() != 0 && base_lid() != Lid() && has_place_of_queue();
  }
  const Link& link() const { return *link_; }
  Link& link() { return *link_; }
  const base::Counters<AttachmentCounter>& counters() const { return counters_; }
  // Clean stop, after that of the port above: the switch may give its port to another node at once.
  void send_bye(base::Time now) { port_.send_bye(now); }
  void visit_counters(const base::CounterVisitor& visitor) const;

  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override;
  // The lanes of the hop have theirs.
  void set_dscp(std::uint8_t /*of_batches*/, std::uint8_t /*of_control*/) override {}
  std::optional<Received> receive() override;
  unsigned lanes() const override { return link_->is_full_profile() ? link_->lanes() : 0; }
  const std::uint16_t& blocked_lanes() const override { return blocked_lanes_; }
  bool take_room() override { return std::exchange(has_room_, false); }
  bool is_blocked_by_lane() const override { return is_blocked_by_lane_; }
  base::Time deadline() const override;
  void on_peer_stopped(const PeerAddress& /*peer*/) override {}  // the switch has not
  unsigned paths_to(const PeerAddress& peer) const override { return paths_to(lid_of(peer)); }
  unsigned own_paths() const override { return own_lids().count(); }
  bool carries_fragments() const override { return false; }
  PathKind path_kind(const PeerAddress& /*to*/) const override { return PathKind::kNetwork; }
  std::size_t datagram_bytes_max(const PeerAddress& to) const override;
  bool take_too_long_report() override;
  std::string name_of(const PeerAddress& peer) const override;
  std::optional<std::uint64_t> eui64_of(const PeerAddress&) const override { return std::nullopt; }
  std::string key_of(const PeerAddress&) const override { return {}; }
  std::optional<std::uint32_t> user_of(const PeerAddress&) const override { return std::nullopt; }

 private:
  static constexpr base::Duration kResolveEvery = std::chrono::milliseconds(200);
  // Transactions; others are of a name.
  static constexpr std::uint64_t kOwnPlace = UINT64_MAX;
  static constexpr std::uint64_t kOwnLids = UINT64_MAX - 1;
  static constexpr std::uint64_t kLidsOfPeer = std::uint64_t{1} << 32;  // and its LID
  static constexpr base::Duration kBlockedRetry = std::chrono::microseconds(100);
  // Full profile: each peer may have gathered a batch for a lane when that is blocked. The batches
  // of more peers wait, with all of their lanes.
  static constexpr std::size_t kBatchesOfLane = 8;
  static constexpr base::Duration kLaneRetry = std::chrono::milliseconds(1);

  struct Named {
    std::string name;
    Lid lid;                  // 0: not resolved
    bool is_asked = false;    // since the switch is there, and it has replied
    bool is_unknown = false;  // to it
    bool uses_all_paths = false;
  };
  // Of a peer that is named by all paths, or that has used several of our paths.
  struct Paths {
    std::uint8_t lmc = 0;
    bool is_known = false;  // since the switch is there, and it has replied
    base::Time used_at{};   // by it
  };
  // A peer that has used one of our paths for this long is reached by one.
  static constexpr base::Duration kPathsUnused = std::chrono::seconds(10);
  struct Arrival {
    ReceivedCell cell;
    Lid from, to;
    PartitionKey partition;
  };

  void on_link_up(Link& link) override;
  void on_link_down(Link& link, std::string_view why) override;
  void on_peer_restarted(Link& link) override;
  void on_path_narrowed(Link& /*link*/) override { is_narrowed_ = true; }
  void on_refused(Link& link, InitReason reason) override;

  // 0: the port has none yet.
  Lid base_lid() const {
    return link_->local_lid() != Lid() ? link_->local_lid() : agent_.given().base;
  }
  void on_lids();
  bool takes_smp(const ReceivedCell& cell, Lid from);
  // The longest datagram with a cell that the hop takes.
  std::size_t hop_stride() const;
  bool lanes_take(base::Bytes bytes, std::size_t stride) const;
  base::MutableBytes reserve(std::size_t cell_bytes, std::uint8_t vl);
  void flush(base::Time now);
  bool has_place_of_queue() const;
  void return_port(base::Time now);
  void take_cells(std::span<const ReceivedCell> cells);
  void take_global(const ReceivedCell& cell, const MacHeader& header);
  std::optional<Received> next_arrival();
  Received next_run();
  bool takes_control(const Arrival& arrival, base::Bytes datagram);
  std::size_t run_length(std::size_t stride) const;
  void on_mgmt(base::Bytes payload);
  void on_resolved(Named& named, base::Bytes reply);
  void resolve(base::Time now);
  void ask(std::uint64_t transaction, std::string_view name);
  bool send_datagram(const LinkLids& lids, base::Bytes datagram);
  bool send_control(const LinkLids& lids, base::Bytes datagram);
  bool send_cell(Lid to, const FlitView& flit);
  bool send_to_peer(Lid to, const FlitView& flit);
  void on_own_lids(base::Bytes reply);
  void on_lids_of(Lid peer, base::Bytes reply);
  void use_all_paths(Lid peer, base::Time now);
  unsigned paths_to(Lid peer) const;
  const Named* named_at(Lid peer) const;  // null: nobody has named it
  unsigned paths_of_control(Lid peer, base::Bytes datagram) const;
  Lid lid_of(const PeerAddress& peer) const;
  // A peer gets replies from the LID at which it has begun a link.
  Lid own_lid_to(Lid peer) const;
  PeerAddress address_of(Lid lid) const;
  PartitionKey partition_to(Lid lid) const;

  base::Clock& clock_;
  base::Counters<AttachmentCounter> counters_;
  RefusalLog refusals_;
  Port port_;
  PeerAddress switch_at_;
  Link* link_;
  const std::uint32_t queue_;
  bool is_misplaced_ = false;  // at a port of the switch that is for something else
  const PartitionTable partitions_;
  NetworkLayer network_;
  NodeAgent agent_;
  bool is_place_known_ = false;  // the switch has replied what the place of this port is
  bool is_lmc_known_ = false;    // and how many LIDs it has
  std::uint8_t lmc_ = 0;
  std::vector<Named> named_;
  std::map<Lid, PartitionKey> in_partition_;  // peers in another one than the first
  std::map<Lid, Lid> called_at_;              // peers that know us by another LID than the base
  std::map<Lid, Paths> paths_;                // by the base LID of the peer
  base::Time resolve_at_ = base::kNever;
  base::Time asked_at_{};
  std::vector<Arrival> arrivals_;
  std::size_t next_ = 0;  // of the arrivals
  bool is_narrowed_ = false;
  std::uint16_t blocked_lanes_ = 0;
  bool has_room_ = false;  // a lane was blocked and is no more
  bool is_blocked_by_lane_ = false;
};

}  // namespace splitnic::fabric
