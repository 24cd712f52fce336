// The paths of a queue pair to its peer, when the port of that has several LIDs: by which of them
// the next cells go. Cells of one message go by all of them [S000-46]: each path in turn gets
// kCellsPerTurn, and the next turn is that of the path with the fewest bytes in flight, so a slow
// path gets less. A path is avoided for a while, twice as long each time, when cells by it are lost
// and nothing that was sent behind them by it has arrived; what they carried goes by another
// [S000-47]. Pure: time comes in with every call.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace splitnic::fabric {

// Of one queue pair: a port may have more LIDs.
inline constexpr unsigned kQpPathsMax = 8;
using PathMask = std::uint8_t;  // bit n: path n
static_assert(kQpPathsMax == 8 * sizeof(PathMask));

class PathChoice {
 public:
  static constexpr unsigned kCellsPerTurn = 8;
  // With one path, the cells until it is asked once more how many there are.
  static constexpr unsigned kCellsPerTurnOfOne = 1024;
  static constexpr base::Duration kAvoidMin = std::chrono::milliseconds(50);
  static constexpr base::Duration kAvoidMax = std::chrono::milliseconds(800);

  bool is_turn_over() const { return left_ == 0; }
  // Begins a turn. `paths` is how many there are now, 1 at least.
  void begin_turn(unsigned paths, const std::array<std::uint64_t, kQpPathsMax>& bytes_in_flight,
                  base::Time now) {
    paths = std::clamp(paths, 1U, kQpPathsMax);
    left_ = paths == 1 ? kCellsPerTurnOfOne : kCellsPerTurn;
    const unsigned first = paths == 1 ? 0 : (path_ + 1) % paths;
    path_ = first;
    for (unsigned i = 1; i < paths; ++i) {
      const unsigned other = (first + i) % paths;
      const bool is_avoided = now < avoided_[other].until,
                 is_best_avoided = now < avoided_[path_].until;
      const bool is_better = is_avoided == is_best_avoided
                                 ? bytes_in_flight[other] < bytes_in_flight[path_]
                                 : is_best_avoided;
      if (is_better) path_ = other;
    }
  }
  // The path of this turn, and how many more cells it gets.
  std::uint8_t path() const { return static_cast<std::uint8_t>(path_); }
  unsigned left() const { return left_; }
  void on_sent(unsigned cells) { left_ -= std::min(left_, cells); }

  void on_arrived(PathMask paths) {
    for_each(paths, [this](unsigned path) { avoided_[path] = {}; });
  }
  void on_silent(PathMask paths, base::Time now) {
    for_each(paths, [&](unsigned path) {
      Avoided& avoided = avoided_[path];
      if (now < avoided.until) return;
      avoided.time = std::clamp(2 * avoided.time, kAvoidMin, kAvoidMax);
      avoided.until = now + avoided.time;
      if (path == path_) left_ = 0;
    });
  }

 private:
  struct Avoided {
    base::Time until{};
    base::Duration time{0};
  };
  template <class Do>
  static void for_each(PathMask paths, Do&& act) {
    for (unsigned path = 0; path < kQpPathsMax; ++path) {
      if ((paths >> path & 1U) != 0) act(path);
    }
  }

  unsigned path_ = 0;
  unsigned left_ = 0;
  std::array<Avoided, kQpPathsMax> avoided_{};
};

}  // namespace splitnic::fabric
