// The lanes of an output of a switch, as its queues and LaneSchedule number them.
#pragma once

#include <cstddef>

namespace splitnic::fabric {

// Those of data, 0 and up, and behind them the one of management cells.
inline constexpr std::size_t kDataLanes = 4;
inline constexpr std::size_t kManagement = kDataLanes;
inline constexpr std::size_t kSwitchLanes = kDataLanes + 1;

}  // namespace splitnic::fabric
