// Chooses the path of the next cells when the peer's port has several LIDs. Cells of one message go
// by all paths [S000-46]: a path gets a quantum of cells, and the next quantum is that of the path
// with the fewest bytes in flight, so a slow path gets less. One that carries nothing is passed
// over, as `Health` has it: PathHealth, or the PathSet of a queue pair. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/clock.h"
#include "fabric_emul/link/path_health.h"

namespace splitnic::fabric {

class PathChoice {
 public:
  static constexpr unsigned kQuantumCells = 8;
  using BytesByPath = std::array<std::uint64_t, kUsedPathsMax>;

  // Sets the number of paths now, 1 at least; called before cells are sent.
  void set_count(unsigned paths) {
    paths = std::clamp(paths, 1U, kUsedPathsMax);
    if (paths == count_) return;
    count_ = paths;
    path_ = left_ = 0;
  }
  // The path has sent its quantum, or it carries nothing any more. With one path there is nothing
  // to choose.
  template <class Health>
  bool is_quantum_used(const Health& health, base::Time now) const {
    return count_ > 1 && (left_ == 0 || health.is_avoided(path_, now));
  }
  // Chooses the path of the next quantum. REQUIRES several.
  template <class Health>
  void begin_quantum(const BytesByPath& bytes_in_flight, const Health& health, base::Time now) {
    choose(count_, bytes_in_flight, health, now);
  }
  // The same, for a cell that was lost by this path: it takes another that carries cells.
  template <class Health>
  void begin_quantum_elsewhere(unsigned lost_by, const BytesByPath& bytes_in_flight,
                               const Health& health, base::Time now) {
    path_ = lost_by % count_;
    choose(count_ - 1, bytes_in_flight, health, now);
    if (health.is_avoided(path_, now) && !health.is_avoided(lost_by % count_, now)) {
      path_ = lost_by % count_;
    }
  }
  bool has_several() const { return count_ > 1; }
  // The path of this quantum, and how many more cells it gets.
  std::uint8_t path() const { return static_cast<std::uint8_t>(path_); }
  unsigned left() const { return count_ == 1 ? std::numeric_limits<unsigned>::max() : left_; }
  void on_sent(unsigned cells) { left_ -= std::min(left_, cells); }

 private:
  // The best of the `candidates` paths behind the current one. If all carry nothing, the one whose
  // silence was reported the longest ago: others were tried since.
  template <class Health>
  void choose(unsigned candidates, const BytesByPath& bytes_in_flight, const Health& health,
              base::Time now) {
    left_ = kQuantumCells;
    unsigned best = (path_ + 1) % count_;
    for (unsigned i = 2; i <= candidates; ++i) {
      const unsigned other = (path_ + i) % count_;
      const bool is_avoided = health.is_avoided(other, now);
      const bool is_best_avoided = health.is_avoided(best, now);
      bool is_better = is_best_avoided;
      if (!is_avoided && !is_best_avoided) {
        is_better = bytes_in_flight[other] < bytes_in_flight[best];
      } else if (is_avoided) {
        is_better = is_best_avoided && health.silent_at(other) < health.silent_at(best);
      }
      if (is_better) best = other;
    }
    path_ = best;
  }

  unsigned count_ = 1;
  unsigned path_ = 0;
  unsigned left_ = 0;
};

}  // namespace splitnic::fabric
