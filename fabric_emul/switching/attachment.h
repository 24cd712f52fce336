// A port of an end node that is attached to a switch. To the layers above it is an underlay whose
// addresses are ports of the fabric: a peer is a LID, whatever link its cells come by, and what is
// sent to it leaves by the one link to the switch. So a Port above has a link for each peer, with
// INIT, keep-alive and path probes from end to end, and knows no switch.
//   down: the cells of a datagram leave as they are; INIT and IDLE in a management cell to QP 0
//   up:   cells are handed over by the LID that sent them, unchanged
// The lanes of the hop are those of this underlay (hop_lanes.h). The LID of the port is the
// switch's to assign, at INIT, or the subnet manager's, by SMP (node_agent.h), and it may have more
// behind it (fabric_emul/wire/port_lids.h). A peer is named (peer_names.h), and the switch resolves
// the name (resolver.h). A node with several queues has an attachment for each, which reaches the
// same queue of its peers (queue_lid.h). There are as many paths as the peer's port has LIDs, if
// the peer was named with path=all or used several of our LIDs (peer_paths.h); what the link sends
// itself goes by all of them. A peer in another subnet has a LID that is valid here only
// (network_layer.h). Thread: the data thread. docs/protocol/path.md docs/protocol/network.md
// docs/adr/0008-a-path-is-not-a-link.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "fabric_emul/link/port.h"
#include "fabric_emul/link/refusal_log.h"
#include "fabric_emul/switching/arrived_cells.h"
#include "fabric_emul/switching/attachment_counters.h"
#include "fabric_emul/switching/hop_lanes.h"
#include "fabric_emul/switching/network_layer.h"
#include "fabric_emul/switching/node_agent.h"
#include "fabric_emul/switching/peer_names.h"
#include "fabric_emul/switching/peer_paths.h"
#include "fabric_emul/switching/resolver.h"
#include "fabric_emul/underlay/underlay_decorator.h"
#include "fabric_emul/wire/flit.h"
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
  PortLids own_lids() const { return {base_lid(), resolver_.lmc()}; }
  // For PortConfig::lids of the port above.
  std::optional<LinkLids> lids_of(const PeerAddress& peer) const;
  bool is_attached() const {
    return link_.up() && link_.peer_port() != 0 && base_lid() != Lid() && has_place_of_queue();
  }
  const Link& link() const { return link_; }
  Link& link() { return link_; }
  const base::Counters<AttachmentCounter>& counters() const { return counters_; }
  // Clean stop, after that of the port above: the switch may give its port to another node at once.
  void send_bye(base::Time now) { port_.send_bye(now); }
  void visit_counters(const base::CounterVisitor& visitor) const;

  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override;
  // The lanes of the hop have theirs.
  void set_dscp(std::uint8_t /*of_batches*/, std::uint8_t /*of_control*/) override {}
  std::optional<Received> receive() override;
  unsigned lanes() const override { return lanes_.count(); }
  const std::uint16_t& blocked_lanes() const override { return lanes_.blocked(); }
  bool take_room() override { return lanes_.take_room(); }
  bool is_blocked_by_lane() const override { return lanes_.is_blocked_by_lane(); }
  base::Time deadline() const override;
  void on_peer_stopped(const PeerAddress& /*peer*/) override {}  // the switch has not
  unsigned paths_to(const PeerAddress& peer) const override {
    return paths_to(names_.lid_of(peer));
  }
  unsigned own_paths() const override { return own_lids().count(); }
  bool carries_fragments() const override { return false; }
  PathKind path_kind(const PeerAddress& /*to*/) const override { return PathKind::kNetwork; }
  std::size_t datagram_bytes_max(const PeerAddress& to) const override;
  bool take_too_long_report() override { return std::exchange(is_narrowed_, false); }
  std::string name_of(const PeerAddress& peer) const override;
  std::optional<std::uint64_t> eui64_of(const PeerAddress&) const override { return std::nullopt; }
  std::string key_of(const PeerAddress&) const override { return {}; }
  std::optional<std::uint32_t> user_of(const PeerAddress&) const override { return std::nullopt; }

 private:
  static constexpr base::Duration kBlockedRetry = std::chrono::microseconds(100);
  static constexpr base::Duration kLaneRetry = std::chrono::milliseconds(1);

  void on_link_up(Link& link) override;
  void on_link_down(Link& link, std::string_view why) override;
  void on_peer_restarted(Link& link) override;
  void on_path_narrowed(Link& /*link*/) override { is_narrowed_ = true; }
  void on_refused(Link& link, InitReason reason) override;

  // The LIDs of the port, and its place at the switch.
  Lid base_lid() const {  // 0: the port has none yet
    return link_.local_lid() != Lid() ? link_.local_lid() : agent_.given().base;
  }
  bool takes_smp(const ReceivedCell& cell, Lid from);
  void on_lids();
  bool has_place_of_queue() const;
  void return_port(base::Time now);

  void take_cells(std::span<const ReceivedCell> cells);
  void take_global(const ReceivedCell& cell, const MacHeader& header, std::size_t number);
  std::optional<Received> next_arrival();
  bool takes_control(const ArrivedCells::Cell& arrival, base::Bytes datagram);

  void flush(base::Time now);
  bool send_datagram(const LinkLids& lids, base::Bytes datagram);
  bool send_control(const LinkLids& lids, base::Bytes datagram);
  bool send_cell(Lid to, const FlitView& flit);
  bool send_to_peer(Lid to, const FlitView& flit);
  unsigned paths_to(Lid peer) const;
  unsigned paths_of_control(Lid peer, base::Bytes datagram) const;
  // A peer gets replies from the LID at which it has begun a link.
  Lid own_lid_to(Lid peer) const { return paths_.own_lid_to(peer, own_lids()); }

  base::Clock& clock_;
  base::Counters<AttachmentCounter> counters_;
  RefusalLog refusals_;
  const PeerAddress switch_at_;
  const std::uint32_t queue_;
  bool is_misplaced_ = false;  // at a port of the switch that is for something else
  bool is_narrowed_ = false;
  PeerNames names_;
  PeerPaths paths_;
  NetworkLayer network_;
  NodeAgent agent_;
  ArrivedCells arrivals_;
  Port port_;
  Link& link_;
  HopLanes lanes_;
  Resolver resolver_;
};

}  // namespace splitnic::fabric
