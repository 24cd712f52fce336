// Which lane sends the next flit: management first, then the high-priority lanes, then the others
// in turn. A lane without flit credits is not among the ready ones, so it blocks no other.
// [S000-40] [S000-41]
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

class LaneArbiter {
 public:
  explicit LaneArbiter(std::uint16_t high_mask) : high_mask_(high_mask) {}

  // `ready`: bit n is set when lane n has a flit that may go. Nothing if none is.
  std::optional<std::uint8_t> pick(std::uint16_t ready) {
    if ((ready >> kMgmtLane & 1) != 0) return kMgmtLane;
    const auto high = static_cast<std::uint16_t>(ready & high_mask_);
    if (high != 0) return take_turn(high, high_turn_);
    if (ready != 0) return take_turn(ready, turn_);
    return std::nullopt;
  }

 private:
  // The first ready lane after the one that went last.
  static std::uint8_t take_turn(std::uint16_t ready, unsigned& last) {
    const auto after = static_cast<std::uint16_t>(ready & ~((2U << last) - 1));
    last = static_cast<unsigned>(std::countr_zero(after != 0 ? after : ready));
    return static_cast<std::uint8_t>(last);
  }

  std::uint16_t high_mask_;
  unsigned turn_ = kLaneCount - 1;
  unsigned high_turn_ = kLaneCount - 1;
};

}  // namespace splitnic::fabric
