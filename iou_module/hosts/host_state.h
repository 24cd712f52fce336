// The life of an attached host, from its CONNECT_REQ to its removal. The edges are data, so a test
// covers all pairs of states. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace splitnic::iou {

enum class HostState : std::uint8_t {
  // Its connection is being set up or is up. While it is up, frames cross in both directions,
  // CfgUtil is served, and EVENT and ANNOUNCE may be requested.
  kAttached,
  // The unit stops: every frame for the host has been pushed and its pools are being flushed
  // [S001-16]. Nothing more is queued for it; frames that it has sent are still forwarded.
  kClosing,
  // Its connection is down, was refused or has to end. It exists only because a callback of its
  // connection may be running, or a reply points into it: nothing is forwarded, and its addresses
  // are free. Only close() may follow.
  kFailed,
  // Its connection is closed and the frames that ended with it are counted. Only the counters may
  // be read; it is removed at the end of the iteration.
  kClosed,
};

struct HostEdge {
  HostState from;
  HostState to;
};

inline constexpr auto kHostEdges = std::to_array<HostEdge>({
    {HostState::kAttached, HostState::kClosing},
    {HostState::kAttached, HostState::kFailed},
    {HostState::kClosing, HostState::kFailed},
    {HostState::kFailed, HostState::kClosed},
});

constexpr bool is_host_edge(HostState from, HostState to) {
  return std::ranges::any_of(kHostEdges,
                             [&](const HostEdge& e) { return e.from == from && e.to == to; });
}
static_assert(!is_host_edge(HostState::kAttached, HostState::kClosed));

}  // namespace splitnic::iou
