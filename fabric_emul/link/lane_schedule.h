// The order of the lanes of a link or an output: from the highest to the lowest, management first,
// each for at most its share of bytes in a round. A round ends when no lane that waits has a part
// of its share left; what is sent is sent whole, and what it took beyond counts in the next round.
// So a lane that waits gets its share of each round, whatever the others send, and one that sends
// less than its share waits for nothing but what is being sent. Deficit round robin (Shreedhar and
// Varghese, SIGCOMM 1995; IEEE/ACM ToN 1996) with an order of the queues. A lane that may not send
// now, such as one without credits, is not waiting: it delays no other, and saves nothing up. Pure.
// [S000-40] [S000-41]
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

class LaneSchedule {
 public:
  // Of lanes 0, 1, 2 and of each one above.
  static constexpr std::int64_t share_of(std::size_t lane) {
    return std::int64_t{8 << 10} << std::min<std::size_t>(lane, 3);
  }

  // Returns the lane that sends next. Bit n of `waiting`: lane n has something. REQUIRES that one
  // has, below kLaneCount.
  std::size_t next(unsigned waiting) {
    CHECK(waiting != 0 && waiting >> kLaneCount == 0);
    for (;; begin_round()) {
      for (unsigned rest = waiting; rest != 0;) {
        const auto lane = static_cast<std::size_t>(std::bit_width(rest)) - 1;
        if (left_[lane] > 0) return lane;
        rest &= ~(1U << lane);
      }
    }
  }
  void on_sent(std::size_t lane, std::size_t bytes) {
    left_[lane] -= static_cast<std::int64_t>(bytes);
  }

 private:
  using Bytes = std::array<std::int64_t, kLaneCount>;

  static constexpr Bytes all_shares() {
    Bytes shares{};
    for (std::size_t lane = 0; lane < shares.size(); ++lane) shares[lane] = share_of(lane);
    return shares;
  }
  void begin_round() {
    for (std::size_t lane = 0; lane < left_.size(); ++lane) {
      left_[lane] = std::min<std::int64_t>(left_[lane], 0) + share_of(lane);
    }
  }

  Bytes left_ = all_shares();
};

}  // namespace splitnic::fabric
