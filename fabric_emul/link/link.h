// One peer over one underlay path. Flow of a cell: reserve() -> the caller writes it -> commit() ->
// flush() by the port or when full; it leaves in datagrams of one length, the stride.
// Speed and shm profile: one cell per flit, no link retry, no credits, the flit CRC covers the flit
// header (the cell's own CRC covers the rest); cells are written straight into the batch, which is
// made in room that the underlay lends, else in our own buffer.
// Full profile (link_lanes.cc): cells wait on their lane, and a FullLink cuts them into flits.
// Invariants: used_ <= datagram_end_ <= batch_end_; while the underlay blocks, the batch is
// complete and unchanged. Thread: the data thread. Made and owned by a Port, lives as long as it.
// docs/wire/datagram.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "fabric_emul/link/full_link.h"
#include "fabric_emul/link/link_counters.h"
#include "fabric_emul/link/path_probe.h"
#include "fabric_emul/underlay/underlay.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/init.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

class Port;

enum class LinkState : std::uint8_t {
  kFree,        // no peer; the slot can be taken
  kConnecting,  // INIT under way, or peer said BYE: nothing but INIT passes
  kUp,
  kSilent,  // was up, nothing heard for too long; any valid flit brings it back
};
std::string_view name(LinkState state);

class Link {
 public:
  Link(Port& port, Underlay& underlay, base::Counters<LinkCounter>& counters, std::size_t slot)
      : port_(port), underlay_(underlay), counters_(counters), slot_(slot) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Room for one cell of cell_bytes in the current batch; the 16 bytes of its flit header lie
  // before it. Sends the batch first when it is full. Empty: link not up, the underlay is blocked
  // (ask again after Port::on_writable), or the lane is full (after Port::take_room). The span is
  // valid until commit(), reserve() or flush; a second reserve() without commit() gives the same
  // room again. REQUIRES 0 < cell_bytes <= cell_bytes_max() in the speed profile, vl < kLaneCount.
  base::MutableBytes reserve(std::size_t cell_bytes, std::uint8_t vl = 0) {
    if (state_ != LinkState::kUp || blocked_) return {};
    vl_ = vl;
    if (full_ != nullptr) return reserve_on_lane(cell_bytes);
    const std::size_t need = kFlitHeaderBytes + cell_bytes;
    if (need > datagram_end_ - used_ && !make_room(need)) return {};
    reserved_ = cell_bytes;
    return {batch_.data() + used_ + kFlitHeaderBytes, cell_bytes};
  }
  // Takes the cell that was written at the front of the reserved room. cell_bytes may be smaller
  // than was reserved; 0 takes nothing. REQUIRES cell_bytes <= what the last reserve() gave, once
  // each.
  void commit(std::size_t cell_bytes);
  // The lane that cells of this service level take on this link [S004-21].
  std::uint8_t lane_of(std::uint8_t sl) const;

  // The most that reserve() takes. Cells beyond the stride travel alone in a datagram of their own.
  std::size_t cell_bytes_max() const {
    return buffer_.empty() ? 0 : buffer_.size() - kFlitHeaderBytes;
  }

  bool up() const { return state_ == LinkState::kUp; }
  // Nothing can be sent now: the underlay is blocked, or a lane has no room.
  bool blocked() const { return blocked_ || starved_lanes_ != 0; }
  LinkState state() const { return state_; }
  // Cell payload maximum: the smaller of both ends', a multiple of 4. 0 before the first INIT.
  std::uint16_t mcp() const { return mcp_; }
  std::size_t stride() const { return stride_; }
  // shm profile: the cell CRC covers header and extensions only; agreed in INIT.
  bool crc_head_only() const { return crc_head_only_; }
  bool is_full_profile() const { return full_ != nullptr; }
  // Data lanes that both ends have open.
  unsigned lanes() const;
  Lid local_lid() const { return local_lid_; }
  Lid remote_lid() const { return remote_lid_; }
  Eui64 local_eui64() const;
  std::uint64_t local_instance() const;
  Eui64 peer_eui64() const { return peer_eui64_; }
  std::uint64_t peer_instance() const { return peer_instance_; }
  std::uint32_t peer_receive_buffer() const { return peer_receive_buffer_; }
  const PeerAddress& address() const { return address_; }
  std::string peer_name() const { return underlay_.name_of(address_); }
  InitReason refusal() const { return refusal_; }  // last REFUSE of the peer, kNone once up
  std::size_t slot() const { return slot_; }       // 0 .. links_max-1, never changes

  void* context = nullptr;  // for the layer above; the link does not look at it

 private:
  friend class Port;

  bool make_room(std::size_t need);  // next datagram or next batch; false: blocked
  void start_batch(std::size_t stride, std::size_t first_bytes);
  void end_batch();
  bool flush();  // false: blocked, the batch is kept
  // The batch moves to our own memory. Before anything else goes to the peer, and before the
  // address changes: the underlay knows what it lent by the address.
  void give_back_room();
  void set_address(const PeerAddress& address);

  // Full profile.
  void start_lanes(base::Time now, const FullLinkConfig& agreed,
                   base::Counters<FullLinkCounter>& counters, CellSink& sink, std::uint64_t nonce);
  void set_full_stride();
  base::MutableBytes reserve_on_lane(std::size_t cell_bytes);
  void commit_on_lane(std::size_t cell_bytes);
  bool flush_lanes(base::Time now);  // as flush()
  void gather_flits(base::Time now);
  void find_room();
  void release_cells();
  void drop_batch();
  void forget_peer();
  void set_mcp(std::uint16_t mcp);

  Port& port_;
  Underlay& underlay_;
  base::Counters<LinkCounter>& counters_;
  const std::size_t slot_;

  // Sending.
  LinkState state_ = LinkState::kFree;
  bool blocked_ = false;
  bool queued_ = false;     // in the port's list of links to flush
  bool sent_ = false;       // something left since the port last looked
  bool narrowed_ = false;   // the path refused a datagram; the port tells the observer
  bool sent_full_ = false;  // a datagram of the stride left since the port last looked
  PathProbe probe_;
  std::size_t path_stride_ = 0;  // what probes found; 0: no less than the underlay says
  base::Time path_known_at_{};
  std::vector<std::byte> buffer_;
  base::MutableBytes batch_;  // where the batch is: buffer_, or what the underlay lent
  bool is_lent_ = false;
  std::size_t used_ = 0;
  std::size_t datagram_end_ = 0;
  std::size_t batch_end_ = 0;
  std::size_t batch_stride_ = 0;
  std::size_t reserved_ = 0;
  std::size_t stride_ = 0;
  std::uint16_t mcp_ = 0;
  std::uint8_t vl_ = 0;  // of what is reserved

  // Full profile, else null: from the first INIT on.
  std::unique_ptr<FullLink> full_;
  std::vector<std::byte> cell_;      // the one that is reserved
  std::uint16_t starved_lanes_ = 0;  // somebody found no room on them
  bool has_room_again_ = false;
  bool is_wide_ = true;      // datagrams as long as the path is said to carry
  std::uint64_t epoch_ = 0;  // the nonce that the INIT at hand goes by
  std::array<std::uint32_t, kLaneCount> delivered_blocks_{};  // of cells that are being read

  // Who the peer is.
  bool crc_head_only_ = false;
  bool is_client_ = false;  // this side sends HELLO
  bool said_bye_ = false;   // the peer ended for good: its slot is free to take
  Lid local_lid_, remote_lid_;
  Eui64 peer_eui64_;
  std::uint64_t peer_instance_ = 0;
  std::uint32_t peer_receive_buffer_ = 0;
  PeerAddress address_;
  InitReason refusal_ = InitReason::kNone;

  // INIT and keep-alive.
  std::uint64_t hello_nonce_ = 0;
  std::uint64_t answer_nonce_ = 0;
  base::Duration hello_wait_{};
  base::Time next_hello_ = base::kNever;
  base::Time last_sent_{};
  base::Time last_heard_{};
};

}  // namespace splitnic::fabric
