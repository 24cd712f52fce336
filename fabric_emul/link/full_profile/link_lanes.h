// The lanes of a link in the full profile: cells wait on their lane, a FullLink cuts them into
// flits when the port flushes, and flits received become cells again. Not open in the other
// profiles. Thread: the data thread. docs/protocol/flit.md#full-profile
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "fabric_emul/link/full_profile/full_link.h"
#include "fabric_emul/link/link_counters.h"
#include "fabric_emul/link/received_cells.h"

namespace splitnic::fabric {

// The part of the credits of its lane that a cell occupies, in one life of a link.
struct CellCredit {
  std::uint32_t life = 0;
  std::uint16_t blocks = 0;
  std::uint8_t vl = 0;
};

class LinkLanes final : private CellSink {
 public:
  // Counters and received cells outlive this object.
  LinkLanes(base::Counters<LinkCounter>& counters, base::Counters<FullLinkCounter>& full_counters,
            ReceivedCells& received)
      : counters_(counters), full_counters_(full_counters), received_(received) {}
  LinkLanes(const LinkLanes&) = delete;
  LinkLanes& operator=(const LinkLanes&) = delete;

  // INIT is complete. Both directions start with LSNs that nobody could know before this INIT (they
  // follow from its nonce), so that flits of before are not taken for new ones.
  void start(base::Time now, const FullLinkConfig& agreed, std::uint64_t nonce, bool is_client);
  bool is_open() const { return link_ != nullptr; }

  // REQUIRES is_open() for all that follows.
  const FullLinkConfig& config() const { return link_->config(); }
  std::uint64_t nonce() const { return nonce_; }  // of the INIT that started it
  bool is_up() const { return link_->up(); }
  bool is_lane_open(std::uint8_t vl) const { return (config().lanes_mask >> vl & 1) != 0; }
  base::Time deadline() const { return link_->deadline(); }
  base::Time silent_at() const { return link_->silent_at(); }
  void on_time(base::Time now) { link_->on_time(now); }

  // Returns room for a cell, or nothing if the lane is full.
  base::MutableBytes reserve(std::uint8_t vl, std::size_t cell_bytes);
  // The same, as long as the queue of the lane has room, however much of it waits for credits.
  base::MutableBytes reserve_queued(std::uint8_t vl, std::size_t cell_bytes);
  bool has_room(std::uint8_t vl) const { return link_->has_room(vl, cell_.size()); }
  // Whether reserve_queued() has room for cells of this many bytes in total.
  bool queue_has_room(std::uint8_t vl, std::size_t bytes) const { return link_->fits(vl, bytes); }
  // Whether the first cell of the lane waits for credits of the peer.
  bool lacks_credits(std::uint8_t vl) const { return link_->sender().lacks_credits(vl); }
  void cancel() { reserved_ = 0; }
  // REQUIRES 0 < cell_bytes <= what the last reserve() returned.
  void commit(std::uint8_t vl, std::size_t cell_bytes);
  // Writes the flits that may go now into a datagram, as long as they are of these lanes, a bit
  // each; returns its length, 0 if there are none.
  std::size_t fill(base::Time now, base::MutableBytes datagram, std::uint16_t lanes) {
    return link_->fill(now, datagram, lanes);
  }
  // Returns the lane of the next flit; that of management if none may go that has a lane.
  std::uint8_t next_lane() { return link_->next_lane(); }

  // Returns false if the flit is not valid, not even as a sign of life.
  bool receive(base::Time now, const FlitView& flit) { return link_->receive(now, flit); }
  void on_bad_flit() { link_->on_bad_flit(); }
  // The cells of the batch were read: their buffer is free for the peer again.
  void release_cells();
  // Not that of this cell, before release() or the next start(). REQUIRES a cell of the batch,
  // once.
  CellCredit hold(const ReceivedCell& cell);
  // Returns false if the link was started once more since hold(): nothing is released.
  bool release(const CellCredit& credit);

  // The lane had no room when reserve() was called and has none since.
  bool is_starved(std::uint8_t vl) const { return (starved_lanes_ >> vl & 1) != 0; }
  void clear_starved() { starved_lanes_ = 0; }
  void find_room();
  // Returns true once after a starved lane has room.
  bool take_room() { return std::exchange(has_room_, false); }

 private:
  void on_cell(std::uint8_t vl, base::Bytes cell, std::uint32_t blocks) override;

  base::Counters<LinkCounter>& counters_;
  base::Counters<FullLinkCounter>& full_counters_;
  ReceivedCells& received_;
  std::unique_ptr<FullLink> link_;
  std::vector<std::byte> cell_;  // the one that is reserved
  std::size_t reserved_ = 0;
  std::uint64_t nonce_ = 0;
  std::uint32_t life_ = 0;  // counts the starts
  std::uint16_t starved_lanes_ = 0;
  bool has_room_ = false;
  std::array<std::uint32_t, kLaneCount> delivered_blocks_{};  // of the cells being read
};

}  // namespace splitnic::fabric
