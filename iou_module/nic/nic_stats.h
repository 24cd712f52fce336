// The statistics that a host gets of its NIC (2/1 GET_STATS, 2/2 QUERY_STATS), by group: basic
// (frames and bytes in each direction), rmon (kinds of frames), drops (one counter per cause),
// pools and queues. They concern that host only and show nothing of other hosts or of the LAN.
// CLEAR_STATS resets them for the host only: the I/O unit's own counters continue. Thread: the data
// thread.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"
#include "iou_module/hosts/attached_host.h"

namespace splitnic::iou {

// All groups.
inline constexpr std::array<std::string_view, 5> kStatsGroups{"basic", "rmon", "drops", "pools",
                                                              "queues"};

// Visits the counters of one group (empty: basic) since the host cleared them, and the present
// values of pools and queues. Returns false if there is no such group.
bool visit_stats(const AttachedHost& host, std::string_view group,
                 const base::CounterVisitor& visitor);
// Clears the counters of one group, or of all if `group` is empty. Returns false if there is no
// such group; then nothing is cleared.
bool clear_stats(AttachedHost& host, std::string_view group);

}  // namespace splitnic::iou
