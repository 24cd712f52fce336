// The colours of links in pictures of a fabric: from light for no load to dark for the greatest.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace splitnic::control {

// From no load to all of it; the last one is a link that is down.
inline constexpr std::array<std::string_view, 12> kLoadColours = {
    "#f4f1e8", "#fdecb5", "#fddc8a", "#fdc566", "#fba94c", "#f68b3e",
    "#ec6a33", "#da462b", "#bb2525", "#a01a20", "#7a0d1b", "#8c96a3"};
inline constexpr std::size_t kColourOfDown = kLoadColours.size() - 1;

// Returns the number of the colour of a link that is up, by its share of the greatest load.
// REQUIRES share >= 0.
inline std::size_t colour_of_load(double share) {
  constexpr std::size_t kSteps = kColourOfDown - 1;
  return static_cast<std::size_t>(std::lround(std::min(share, 1.0) * kSteps));
}

}  // namespace splitnic::control
