// The network layer of an end node behind a switch: its network address, the routers of its subnet,
// and the peers in other subnets. To the layers above such a peer is a LID beyond those of ports,
// which is ours alone and on no link: cells to it get a GNH and the LID of a router, and what comes
// from it is checked and loses the GNH; the header of a datagram (Raw) stays. Datagrams from
// beyond the fabric come from the peer that leads there, the leg to a LAN; at this leg they may be
// for anybody. Bounded: 4096 peers, one batch of cells. Thread: the data thread. [S000-33]
// [S000-48] docs/protocol/network.md
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "fabric_emul/link/received_cells.h"
#include "fabric_emul/wire/extensions.h"
#include "fabric_emul/wire/global_cell.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/limits.h"
#include "fabric_emul/wire/mac_header.h"
#include "fabric_emul/wire/network_address.h"

namespace splitnic::fabric {

// The place of a port in the network: private data of RESOLVED. Behind it are the LIDs of the
// routers, or nothing.
inline constexpr std::size_t kNetworkPlaceBytes = sizeof(std::uint16_t) + kNetworkAddressBytes;
inline constexpr std::size_t kRoutersMax = 16;  // of one subnet

class NetworkLayer {
 public:
  static constexpr std::size_t kPeersMax = 4096;
  static_assert(kPortLidMax + kPeersMax <= UINT16_MAX);

  enum class Fault : std::uint8_t {
    kNone,
    kGlobal,       // no network address, no room, or the GNH is not as it must be
    kDestination,  // not our network address
    kOrigin,       // not by a router of our subnet, or from our subnet, or of nobody known
  };
  struct Taken {
    Fault fault = Fault::kNone;
    Lid from{};           // of the peer
    ReceivedCell cell{};  // with the header of a flit before it; valid until forget_cells()
  };

  // carried_bytes_max: of the hop, as in ReceivedCells.
  explicit NetworkLayer(std::size_t carried_bytes_max = 0)
      : store_bytes_(ReceivedCells::kBatchBytesMax + carried_bytes_max) {}

  // Takes RESOLVED of the port that asks: nothing, where the subnet has no prefix, or its place.
  // Returns false if it is neither.
  bool learn(base::Bytes reply, Lid own);
  // Takes RESOLVED of a name in another subnet. Returns its LID here, or LID 0 if the reply is not
  // valid, or there are too many.
  Lid resolved(base::Bytes reply);

  // Whether this node has a network address now.
  bool is_known() const { return own_.has_value(); }
  static constexpr bool is_peer(Lid lid) { return lid.value > kPortLidMax; }
  // Returns an empty text if `lid` is no peer.
  std::string name_of(Lid lid) const;
  // To a peer. REQUIRES is_known(), and a peer that this has returned.
  Gnh gnh_to(Lid peer, std::uint8_t sl, std::uint16_t payload_bytes) const;
  Lid router_to(Lid peer) const { return peers_.at(index_of(peer)).router; }

  // Whether a cell that came is for take(). Datagrams of the own subnet are not.
  bool takes(const MacHeader& header) const {
    return is_global(header) || (is_datagram(header) && is_by_router(header));
  }
  // Checks a cell that it takes(), of a right CRC, and takes a copy with the LIDs of the peer and
  // of this port, without the GNH unless that is of a datagram.
  Taken take(const ReceivedCell& cell, const MacHeader& header);
  // A datagram has left for this peer: what comes from beyond the fabric is from there.
  void set_leg(Lid peer) { leg_ = peer; }
  // This node is the leg to a LAN: it takes datagrams for any destination.
  void become_leg() { is_leg_ = true; }
  // Returns the LID of the port that has this network address, if any has: of the subnet, or of a
  // peer. LID 0: none can.
  Lid lid_at(const NetworkAddress& address) const;
  // Nothing before the switch has replied, and where the subnet has no prefix.
  const std::optional<NetworkAddress>& own() const { return own_; }
  // Before the cells of the next batch.
  void forget_cells() { used_ = 0; }

 private:
  struct Peer {
    NetworkAddress address;
    Lid router;  // the last one that led here
  };
  static std::size_t index_of(Lid peer) { return peer.value - kPortLidMax - 1U; }
  Lid peer_at(const NetworkAddress& address, Lid router);
  Lid sender_of(const NetworkAddress& source, const MacHeader& header);
  bool is_by_router(const MacHeader& header) const {
    return own_ && std::ranges::find(routers_, header.slid) != routers_.end();
  }
  // Takes a copy that `change` writes, remove_gnh() or change_lids().
  ReceivedCell copy_of(const ReceivedCell& cell, CellLids lids, decltype(&remove_gnh) change);

  std::optional<NetworkAddress> own_;
  std::vector<Lid> routers_;
  std::vector<Peer> peers_;
  std::map<NetworkAddress, Lid> lids_;
  Lid leg_;  // 0: no datagram has left for another subnet
  bool is_leg_ = false;
  const std::size_t store_bytes_;
  std::vector<std::byte> store_;  // the cells of one batch; empty before the first
  std::size_t used_ = 0;
};

}  // namespace splitnic::fabric
