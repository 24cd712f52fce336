// The roles of the suite: it plays the other end of its target.
#pragma once

#include <cstdint>

namespace splitnic::conformance {

enum class Role : std::uint8_t { kHost, kUnit, kNodes };

}  // namespace splitnic::conformance
