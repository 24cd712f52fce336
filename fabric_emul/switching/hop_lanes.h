// The lanes of the hop from an attached port to its switch. In the full profile the layers above
// see them as lanes of their underlay: one without room is blocked, and they continue on the others
// [S000-40]. Thread: the data thread. docs/protocol/path.md#waiting
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "fabric_emul/link/link.h"

namespace splitnic::fabric {

class HopLanes {
 public:
  // Full profile: each peer may have gathered a batch for a lane when that is blocked. The batches
  // of more peers wait, with all of their lanes.
  static constexpr std::size_t kBatchesOfLane = 8;

  // `hop` outlives this.
  explicit HopLanes(Link& hop) : hop_(hop) {}

  unsigned count() const { return hop_.is_full_profile() ? hop_.lanes() : 0; }
  // The longest datagram with a cell that the hop takes.
  std::size_t stride() const;
  // Whether all cells of this batch, in datagrams of `stride` bytes, leave now or have room to
  // wait.
  bool take(base::Bytes batch, std::size_t stride);
  // The last batch did not leave because a lane had no room for it.
  bool is_blocked_by_lane() const { return is_blocked_by_lane_; }
  // Room for a cell of a batch that take() has taken, as Link::reserve() returns it.
  base::MutableBytes reserve(std::size_t cell_bytes, std::uint8_t vl);
  // Call it when the hop was flushed.
  void on_flushed();
  // Bit n: lane n has no room.
  const std::uint16_t& blocked() const { return blocked_; }
  // Returns true once when a lane was blocked and is no more.
  bool take_room() { return std::exchange(has_room_, false); }

 private:
  bool have_room(base::Bytes batch, std::size_t stride) const;

  Link& hop_;
  std::uint16_t blocked_ = 0;
  bool has_room_ = false;
  bool is_blocked_by_lane_ = false;
};

}  // namespace splitnic::fabric
