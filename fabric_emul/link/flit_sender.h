// Cells of many lanes into flits of one link, full profile. 1. post() queues a cell on its lane;
// 2. next() sends again what retry asks for, else 3. lets the arbiter choose among lanes that have
// a flit and the credits for it. Cells of one lane are never interleaved. [S000-40] [S000-43]
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
#include "fabric_emul/link/flit_credit.h"
#include "fabric_emul/link/full_link_config.h"
#include "fabric_emul/link/lane_arbiter.h"
#include "fabric_emul/link/link_retry.h"

namespace splitnic::fabric {

class FlitSender {
 public:
  FlitSender(const FullLinkConfig& config, base::Counters<FullLinkCounter>& counters);

  void start(Lsn first);
  // False: no room on this lane now. REQUIRES the lane is open and 0 < size <= cell_bytes_max.
  bool post(std::uint8_t vl, base::Bytes cell);
  // The next DATA flit, without acknowledge number and credit; nothing if none may go.
  std::optional<RetrySender::Kept> next(base::Time now);
  bool has_work() const { return retry_.has_resend() || (!retry_.full() && ready_mask() != 0); }
  void on_credit(std::uint8_t vl, std::uint32_t limit);
  RetrySender& retry() { return retry_; }
  const RetrySender& retry() const { return retry_; }
  bool has_room(std::uint8_t vl, std::size_t cell_bytes) const {
    const Lane& lane = lanes_[vl];
    const std::size_t queued = lane.tail - lane.head;
    // No more than goes at once, but any two cells.
    const std::size_t limit =
        std::max(retry_.room_now() * config_.flit_payload_max, 2 * config_.cell_bytes_max);
    return !lane.lengths.full() && lane.bytes.size() - queued >= cell_bytes &&
           queued + cell_bytes <= limit;
  }
  std::size_t queued_bytes(std::uint8_t vl) const { return lanes_[vl].tail - lanes_[vl].head; }

 private:
  struct Lane {
    std::vector<std::byte> bytes;  // ring of cells behind one another
    std::size_t head = 0, tail = 0;
    base::Ring<std::uint32_t> lengths{1};
    std::uint32_t sent = 0;  // bytes of the front cell that have gone
    CreditGate gate;
  };
  std::uint16_t ready_mask() const;
  std::size_t next_bytes(const Lane& lane) const;
  static void copy_out(Lane& lane, base::MutableBytes to);

  const FullLinkConfig& config_;
  base::Counters<FullLinkCounter>& counters_;
  std::array<Lane, kLaneCount> lanes_;
  std::uint16_t waiting_ = 0;  // lanes that hold cells
  LaneArbiter arbiter_;
  RetrySender retry_;
};

}  // namespace splitnic::fabric
