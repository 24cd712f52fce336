// The paths to a peer that carry nothing [S000-47]. A path is avoided for a while, twice as long
// each time, when cells by it are lost and nothing that was sent behind them by it has arrived:
// whoever sends there reports it, for all that send to this peer. Pure: time comes in with every
// call.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace splitnic::fabric {

// That are used at once: a port may have more LIDs.
inline constexpr unsigned kUsedPathsMax = 8;
using PathMask = std::uint8_t;  // bit n: path n
static_assert(kUsedPathsMax == 8 * sizeof(PathMask));

class PathHealth {
 public:
  static constexpr base::Duration kAvoidMin = std::chrono::milliseconds(50);
  static constexpr base::Duration kAvoidMax = std::chrono::milliseconds(800);

  // REQUIRES path < kUsedPathsMax.
  bool is_avoided(unsigned path, base::Time now) const { return now < avoided_[path].until; }
  // When on_silent() reported it last.
  base::Time silent_at(unsigned path) const { return avoided_[path].silent_at; }
  void on_arrived(PathMask paths) {
    for_each(paths, [this](unsigned path) { avoided_[path] = {}; });
  }
  void on_silent(PathMask paths, base::Time now) {
    for_each(paths, [&](unsigned path) {
      Avoided& avoided = avoided_[path];
      avoided.silent_at = now;
      if (now < avoided.until) return;
      avoided.time = std::clamp(2 * avoided.time, kAvoidMin, kAvoidMax);
      avoided.until = now + avoided.time;
    });
  }

 private:
  struct Avoided {
    base::Time silent_at{};
    base::Time until{};
    base::Duration time{0};
  };
  template <class Do>
  static void for_each(PathMask paths, Do&& act) {
    for (unsigned path = 0; path < kUsedPathsMax; ++path) {
      if ((paths >> path & 1U) != 0) act(path);
    }
  }

  std::array<Avoided, kUsedPathsMax> avoided_{};
};

}  // namespace splitnic::fabric
