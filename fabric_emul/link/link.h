// One peer over one underlay path, as the layers above see it. Flow of a cell: reserve() -> the
// caller writes it -> commit() -> the port flushes, or reserve() does when the batch is full.
// Speed and shm profile: one cell per flit, no link retry, no credits; the flit CRC covers the flit
// header (the cell's own CRC covers the rest, or its head only: crc_terms.h); cells are written
// straight into the SendBatch; one that is longer than the path carries by now is cut into
// fragments. Full profile: cells wait on their lane (LinkLanes), and flits are
// cut when the port flushes. Thread: the data thread. Made and owned by a Port, as a PortLink;
// lives as long as the port. docs/protocol/datagram.md
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "fabric_emul/link/crc_terms.h"
#include "fabric_emul/link/fragment_sender.h"
#include "fabric_emul/link/full_profile/link_lanes.h"
#include "fabric_emul/link/handshake.h"
#include "fabric_emul/link/keep_alive.h"
#include "fabric_emul/link/path_health.h"
#include "fabric_emul/link/path_mtu.h"
#include "fabric_emul/link/port_context.h"
#include "fabric_emul/link/repeated_flit.h"
#include "fabric_emul/link/send_batch.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

class Link {
 public:
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Returns room for one cell of cell_bytes in the current batch; the 16 bytes of its flit header
  // lie before it. Sends the batch first when it is full. Returns nothing if the link is not up,
  // the underlay is blocked (retry after Port::on_writable), or the lane is full (retry after
  // Port::take_room). The span is valid until commit(), reserve() or flush; a second reserve()
  // without commit() returns the same room. REQUIRES 0 < cell_bytes <= cell_bytes_max() in the
  // speed profile, vl < kLaneCount.
  base::MutableBytes reserve(std::size_t cell_bytes, std::uint8_t vl = 0) {
    if (!up() || batch_.is_blocked() || (context_.blocked_lanes >> vl & 1) != 0) return {};
    vl_ = vl;
    if (lanes_.is_open()) return lanes_.reserve(vl, cell_bytes);
    is_cut_ = kFlitHeaderBytes + cell_bytes > batch_.stride() && uses_fragments();
    if (is_cut_) return fragments_.reserve(cell_bytes);
    const base::MutableBytes flit = batch_.reserve(kFlitHeaderBytes + cell_bytes, vl);
    if (flit.empty()) return {};
    return {flit.data() + kFlitHeaderBytes, cell_bytes};
  }
  // Full profile: the same, also beyond what leaves with the flits in flight, as long as the lane's
  // queue has room. For cells that were gathered while their lane had room. REQUIRES
  // is_full_profile().
  base::MutableBytes reserve_queued(std::size_t cell_bytes, std::uint8_t vl);
  // Sends the cell that was written at the front of the reserved room. cell_bytes may be smaller
  // than was reserved; 0 sends nothing. REQUIRES cell_bytes <= what the last reserve() returned,
  // once each.
  void commit(std::size_t cell_bytes);
  // Returns the lane that cells of this service level take on this link [S004-21].
  std::uint8_t lane_of(std::uint8_t sl) const;
  // Full profile: a lane that the peer has not opened gives way to lane 0.
  std::uint8_t open_lane(std::uint8_t vl) const {
    return !lanes_.is_open() || lanes_.is_lane_open(vl) ? vl : 0;
  }

  // The largest cell that reserve() takes; one beyond the stride travels alone in its datagram, or
  // is cut into flits.
  std::size_t cell_bytes_max() const {
    if (lanes_.is_open()) return lanes_.config().cell_bytes_max;
    return batch_.capacity() == 0 ? 0 : batch_.capacity() - kFlitHeaderBytes;
  }
  // Full profile, for who carries cells on: a cell of the batch being received stays in use, so
  // that its lane takes that much less, until release() or the next INIT. REQUIRES
  // is_full_profile(), and once for each cell.
  CellCredit hold(const ReceivedCell& cell) { return lanes_.hold(cell); }
  void release(const CellCredit& credit);
  // Lane n has no room for a cell: bit n. Always 0 in the other profiles.
  std::uint16_t full_lanes() const;
  // Whether reserve_queued() has room for cells of this many bytes in total. REQUIRES
  // is_full_profile(), as the next one does.
  bool queue_has_room(std::uint8_t vl, std::size_t bytes) const {
    return lanes_.queue_has_room(vl, bytes);
  }
  // Whether what waits on the lane waits for the peer to read, and not for other lanes.
  bool lacks_credits(std::uint8_t vl) const { return lanes_.lacks_credits(vl); }

  bool up() const { return state() == LinkState::kUp; }
  // Nothing can be sent on this lane now: the underlay is blocked, or the lane has no room.
  bool blocked(std::uint8_t vl = 0) const {
    return batch_.is_blocked() || lanes_.is_starved(vl) || (context_.blocked_lanes >> vl & 1) != 0;
  }
  LinkState state() const { return handshake_.state(); }
  // Returns when the last flit of the peer arrived; the epoch before the first.
  base::Time last_heard() const { return keep_alive_.last_heard(); }
  // Returns how long a peer may send nothing: then it sends IDLE.
  base::Duration idle() const { return context_.config.idle; }
  // Cell payload maximum: the smaller of both ends', a multiple of 4. 0 before the first INIT.
  std::uint16_t mcp() const { return path_.mcp(); }
  // The minimum that a peer may accept.
  std::uint16_t mcp_min() const { return context_.config.mcp_min; }
  std::size_t stride() const { return batch_.stride(); }
  // Probes found that the path carries less than the interface it begins with.
  bool is_path_narrowed() const { return path_.is_narrowed(); }
  // Cells that are longer than what probes show to pass are cut: those of queue pairs that were
  // made while the path was wider. Both ends take fragments. [L-33]
  bool uses_fragments() const {
    return handshake_.peer().takes_fragments && context_.uses_fragments();
  }
  LinkProfile profile() const { return context_.profile(); }
  // The cell CRC covers header and extensions only. The same at both ends, and constant until the
  // next INIT; cells that were on the way then are dropped by their receiver and retransmitted.
  bool crc_head_only() const { return payload_crc_ != PayloadCrcState::kOn; }
  PayloadCrcState payload_crc() const { return payload_crc_; }
  bool is_full_profile() const { return lanes_.is_open(); }
  // Number of data lanes that both ends have open, here or on the hop below.
  unsigned lanes() const;
  // Cells are cut into flits, here or on the hop below: an ACK should fit one.
  bool has_flits() const { return lanes_.is_open() || context_.underlay.lanes() != 0; }
  Lid local_lid() const { return handshake_.peer().local_lid; }
  Lid remote_lid() const { return handshake_.peer().remote_lid; }
  // The peer is in another subnet: routers on the way there compute the cell CRC of each cell. The
  // same at both ends [S000-33].
  bool crosses_routers() const { return context_.lid_terms.is_in_other_subnet(remote_lid()); }
  // Behind a switch: how many LIDs from remote_lid() on lead to the peer, each by a path; and
  // whether a cell for this LID is for the local end [S000-46].
  unsigned paths() const { return context_.underlay.paths_to(address()); }
  // The paths of these that carry nothing, as those who send by them have found.
  PathHealth& path_health() { return path_health_; }
  // Another of these LIDs each time: for what one path may lose.
  Lid next_remote_lid() {
    return path_of(remote_lid(), next_path_++ % std::min(paths(), kUsedPathsMax));
  }
  bool takes(Lid dlid) const {
    return dlid == local_lid() ||
           (unsigned{dlid.value} ^ local_lid().value) < context_.underlay.own_paths();
  }
  Eui64 local_eui64() const { return context_.config.eui64; }
  std::uint64_t local_instance() const { return context_.config.instance; }
  Eui64 peer_eui64() const { return handshake_.peer().eui64; }
  std::uint64_t peer_instance() const { return handshake_.peer().instance; }
  // The number of the peer's port if the peer is a switch; 0: it is an end node.
  std::uint8_t peer_port() const { return handshake_.peer().port; }
  std::uint32_t peer_receive_buffer() const { return handshake_.peer().receive_buffer_bytes; }
  const PeerAddress& address() const { return batch_.address(); }
  std::string peer_name() const { return context_.underlay.name_of(address()); }
  // The public key of a peer that the underlay authenticates, as text; "" without keys.
  std::string peer_key() const { return context_.underlay.key_of(address()); }
  bool is_keyed() const { return context_.underlay.eui64_of(address()).has_value(); }
  // The user that the peer runs as, where the kernel reports it (shm); of a peer that has sent
  // HELLO, also after it is gone.
  std::optional<std::uint32_t> peer_user() const {
    return peer_user_ ? peer_user_ : context_.underlay.user_of(address());
  }
  // Returns when a link that is not up sends its next HELLO; kNever on the listening side.
  base::Time next_attempt() const { return up() ? base::kNever : handshake_.next_hello(); }
  // The reason of the peer's last REFUSE; kNone once the link is up.
  InitReason refusal() const { return handshake_.refusal(); }
  std::size_t slot() const { return slot_; }  // 0 .. links_max-1, never changes

 protected:
  Link(PortContext& context, std::size_t slot);
  ~Link() = default;

  void cancel();  // the reserved room is not used
  void commit_cut(std::size_t cell_bytes);
  void set_payload_crc(PayloadCrcState state);

  // Adds the link to those that the port flushes next.
  void queue() {
    if (!is_queued_) context_.queue(slot_);
    is_queued_ = true;
  }

  PortContext& context_;
  const std::size_t slot_;
  PayloadCrcState payload_crc_;
  bool is_queued_ = false;
  std::uint8_t vl_ = 0;  // of what is reserved
  bool is_cut_ = false;  // what is reserved is longer than the path carries
  std::uint32_t next_path_ = 0;
  PathHealth path_health_;
  RepeatedFlits sealed_;  // flits that were sent
  SendBatch batch_;
  FragmentSender fragments_;  // Invariant: not empty only while the batch is blocked
  Handshake handshake_;
  KeepAlive keep_alive_;
  PathMtu path_;
  LinkLanes lanes_;
  std::optional<std::uint32_t> peer_user_;  // listening side
};

}  // namespace splitnic::fabric
