// The roles of the suite: it plays the other end of its target.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splitnic::conformance {

enum class Role : std::uint8_t {
  kHost,
  kUnit,
  kNodes,   // around a switch
  kSubnet,  // switches and nodes around a switch that manages
};

inline constexpr std::size_t kManagerPorts = 3;  // of the switch that kSubnet plays around

}  // namespace splitnic::conformance
