// Cuts the cells of all lanes into the flits of one link, full profile. 1. post() queues a cell on
// its lane; 2. next() retransmits if RetrySender has to, else 3. the LaneSchedule chooses among
// the lanes that have a flit and the credits for it. Cells of one lane are never interleaved.
// Thread: the data thread. docs/protocol/flit.md#full-profile [S000-40] [S000-43]
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/ring.h"
#include "fabric_emul/link/full_profile/flit_credit.h"
#include "fabric_emul/link/full_profile/full_link_config.h"
#include "fabric_emul/link/full_profile/link_retry.h"
#include "fabric_emul/link/lane_schedule.h"

namespace splitnic::fabric {

inline constexpr std::uint16_t kAllLanes = 0xFFFF;

class FlitSender {
 public:
  FlitSender(const FullLinkConfig& config, base::Counters<FullLinkCounter>& counters);

  void start(Lsn first);
  // Returns false if the lane has no room now. REQUIRES the lane is open and 0 < size <=
  // cell_bytes_max.
  bool post(std::uint8_t vl, base::Bytes cell);
  // Returns the next DATA flit, without acknowledge number and credit; nothing if none may go, or
  // if it is not of one of these lanes, a bit each.
  std::optional<RetrySender::Kept> next(base::Time now, std::uint16_t lanes = kAllLanes);
  // Returns the lane of that flit, whichever it is; nothing if none may go.
  std::optional<std::uint8_t> next_lane();
  void on_credit(std::uint8_t vl, std::uint32_t limit);
  RetrySender& retry() { return retry_; }
  const RetrySender& retry() const { return retry_; }
  // Whether the queue of the lane holds cells of this many bytes more.
  bool fits(std::uint8_t vl, std::size_t bytes) const {
    const Lane& lane = lanes_[vl];
    const std::size_t cells = bytes / kCellBytesMin + 1;
    return lane.lengths.capacity() - lane.lengths.size() >= cells &&
           lane.bytes.size() - lane.queued() >= bytes;
  }
  bool lacks_credits(std::uint8_t vl) const {
    const Lane& lane = lanes_[vl];
    return !lane.lengths.empty() && !lane.gate.may_send(blocks_of(next_bytes(lane)));
  }
  // Whether that is at most as much as one window of flits carries, or one of two cells.
  bool has_room(std::uint8_t vl, std::size_t cell_bytes) const {
    const std::size_t limit =
        std::max(retry_.room_now() * config_.flit_payload_max, 2 * config_.cell_bytes_max);
    return fits(vl, cell_bytes) && lanes_[vl].queued() + cell_bytes <= limit;
  }

 private:
  struct Lane {
    std::vector<std::byte> bytes;  // ring: the cells in order
    std::size_t head = 0, tail = 0;
    base::Ring<std::uint32_t> lengths{1};
    std::uint32_t sent = 0;  // bytes of the front cell that were cut
    CreditGate gate;
    std::size_t queued() const { return tail - head; }
  };
  std::uint16_t ready_mask() const;
  std::size_t next_bytes(const Lane& lane) const;
  static void copy_out(Lane& lane, base::MutableBytes to);

  const FullLinkConfig& config_;
  base::Counters<FullLinkCounter>& counters_;
  std::array<Lane, kLaneCount> lanes_;
  std::uint16_t waiting_ = 0;  // lanes that hold cells
  LaneSchedule schedule_;
  RetrySender retry_;
};

}  // namespace splitnic::fabric
