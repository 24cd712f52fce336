// The order of the lanes of an output: management first, then the data lanes from the
// highest to the lowest, each for at most its share of bytes in a round. A round ends when no lane
// that waits has a part of its share left; a cell is sent whole, and what it took beyond counts in
// the next round. So a lane that waits gets its share of each round, whatever the others send, and
// one that sends less than its share waits for nothing but the cell before. Deficit round robin
// (Shreedhar and Varghese, 1995) with an order of the queues. LaneArbiter of the full profile has
// strict priorities instead, without bytes or shares. Pure. [S000-40] [S000-41]
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace splitnic::fabric {

// Those of data, 0 and up, and behind them the one of management cells.
inline constexpr std::size_t kDataLanes = 4;
inline constexpr std::size_t kManagement = kDataLanes;
inline constexpr std::size_t kSwitchLanes = kDataLanes + 1;

class LaneSchedule {
 public:
  static constexpr std::array<std::int64_t, kSwitchLanes> kShares{8 << 10, 16 << 10, 32 << 10,
                                                                  64 << 10, 64 << 10};

  // Returns the lane that sends the next cell. Bit n of `waiting`: lane n has one. REQUIRES that
  // one has.
  std::size_t next(unsigned waiting) {
    CHECK(waiting != 0);
    for (;; begin_round()) {
      for (std::size_t lane = kSwitchLanes; lane-- > 0;) {
        if ((waiting >> lane & 1U) != 0 && left_[lane] > 0) return lane;
      }
    }
  }
  void on_sent(std::size_t lane, std::size_t bytes) {
    left_[lane] -= static_cast<std::int64_t>(bytes);
  }

 private:
  void begin_round() {
    for (std::size_t lane = 0; lane < kSwitchLanes; ++lane) {
      left_[lane] = std::min<std::int64_t>(left_[lane], 0) + kShares[lane];
    }
  }

  std::array<std::int64_t, kSwitchLanes> left_ = kShares;
};

}  // namespace splitnic::fabric
