// In place of the number of a NIC in the capabilities of an active side: whichever it may use.
// docs/protocol/channels.md#capabilities
#pragma once

#include <cstdint>

namespace splitnic::messaging {

inline constexpr std::uint32_t kAnyNic = ~0U;

}  // namespace splitnic::messaging
