// The paths of a queue pair to its peer, when the port of that has several LIDs: by which of them
// the next cells go. Cells of one message go by all of them [S000-46]: a path gets a quantum of
// cells, and the next quantum is that of the path with the fewest bytes in flight, so a slow path
// gets less. One that carries nothing is passed over (path_health.h). Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/clock.h"
#include "fabric_emul/link/path_health.h"

namespace splitnic::fabric {

class PathChoice {
 public:
  static constexpr unsigned kQuantumCells = 8;
  // With one path, the cells until it is asked once more how many there are.
  static constexpr unsigned kQuantumOfOne = 1024;

  // The path has sent its quantum, or it carries nothing any more.
  bool is_quantum_used(const PathHealth& health, base::Time now) const {
    return left_ == 0 || (left_ <= kQuantumCells && health.is_avoided(path_, now));
  }
  // Chooses the path of the next quantum. `paths` is how many there are now, 1 at least.
  void begin_quantum(unsigned paths,
                     const std::array<std::uint64_t, kUsedPathsMax>& bytes_in_flight,
                     const PathHealth& health, base::Time now) {
    paths = std::clamp(paths, 1U, kUsedPathsMax);
    left_ = paths == 1 ? kQuantumOfOne : kQuantumCells;
    const unsigned first = paths == 1 ? 0 : (path_ + 1) % paths;
    path_ = first;
    for (unsigned i = 1; i < paths; ++i) {
      const unsigned other = (first + i) % paths;
      const bool is_avoided = health.is_avoided(other, now);
      const bool is_best_avoided = health.is_avoided(path_, now);
      const bool is_better = is_avoided == is_best_avoided
                                 ? bytes_in_flight[other] < bytes_in_flight[path_]
                                 : is_best_avoided;
      if (is_better) path_ = other;
    }
  }
  // The path of this quantum, and how many more cells it gets.
  std::uint8_t path() const { return static_cast<std::uint8_t>(path_); }
  unsigned left() const { return left_; }
  void on_sent(unsigned cells) { left_ -= std::min(left_, cells); }

 private:
  unsigned path_ = 0;
  unsigned left_ = 0;
};

}  // namespace splitnic::fabric
