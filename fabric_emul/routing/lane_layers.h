// Layers of lanes, by which routes avoid deadlocks [S000-41]. Up is towards the switch of the lower
// LID, down towards that of the higher one: an order that each switch knows and that no failure
// changes. A route dips where it goes up after down, at a switch between two of lower LIDs; there a
// cell leaves in the next layer, else in the one that it came by. So within a layer routes go up
// and then down only, layers ascend, and no circle of cells that wait for each other closes, as
// long as no route has more dips than there are layers above the first: another lane where a circle
// could close [Dally and Seitz, IEEE Transactions on Computers, 1987]. Pure.
//
// Data lane 2 * C + L is layer L of class C.
#pragma once

#include <cstdint>

#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

inline constexpr std::uint8_t kLaneLayers = 2;
inline constexpr std::uint32_t kDipsMax = kLaneLayers - 1;  // of a route

constexpr bool goes_up(Lid at, Lid next) { return next < at; }

// Whether a route that comes to switch `at` from `before` and leaves to `next` dips there.
constexpr bool dips_at(Lid at, Lid before, Lid next) {
  return !goes_up(before, at) && goes_up(at, next);
}

constexpr std::uint8_t layer_of(std::uint8_t lane) { return lane % kLaneLayers; }

// Returns the lane of the same class in this layer.
constexpr std::uint8_t in_layer(std::uint8_t lane, std::uint8_t layer) {
  return static_cast<std::uint8_t>(lane - layer_of(lane) + layer);
}

// Returns the layer behind a dip. The last one stays: while tables change, a cell may dip more
// often than a route does.
constexpr std::uint8_t layer_behind_dip(std::uint8_t layer) {
  return layer + 1 < kLaneLayers ? static_cast<std::uint8_t>(layer + 1) : layer;
}

}  // namespace splitnic::fabric
