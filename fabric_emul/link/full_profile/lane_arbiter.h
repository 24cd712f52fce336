// Chooses the lane of the next flit: management first, then the high-priority lanes in round robin,
// then the others in round robin. A lane without flit credits is not ready, so it blocks no other.
// The priorities are strict and flits count equally: the flit credits of each lane bound what it
// takes. Links of the other profiles have no credits, so LaneSchedule of fabric_emul/switching
// counts bytes and guarantees shares; the two share no logic. [S000-40] [S000-41]
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

class LaneArbiter {
 public:
  explicit LaneArbiter(std::uint16_t high_mask) : high_mask_(high_mask) {}

  // Returns a lane of `ready`, whose bit n is set when lane n has a flit that may go; nothing if
  // there is none.
  std::optional<std::uint8_t> pick(std::uint16_t ready) {
    if ((ready >> kMgmtLane & 1) != 0) return kMgmtLane;
    const auto high = static_cast<std::uint16_t>(ready & high_mask_);
    if (high != 0) return next_after(high_last_, high);
    if (ready != 0) return next_after(last_, ready);
    return std::nullopt;
  }

 private:
  // Returns the first ready lane after `last` and makes it the last one.
  static std::uint8_t next_after(unsigned& last, std::uint16_t ready) {
    const auto after = static_cast<std::uint16_t>(ready & ~((2U << last) - 1));
    last = static_cast<unsigned>(std::countr_zero(after != 0 ? after : ready));
    return static_cast<std::uint8_t>(last);
  }

  std::uint16_t high_mask_;
  unsigned last_ = kLaneCount - 1;
  unsigned high_last_ = kLaneCount - 1;
};

}  // namespace splitnic::fabric
