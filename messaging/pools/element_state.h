// States and edges of pools and of their elements, as tables. An event without an edge is refused:
// the caller counts it and nothing changes. docs/protocol/message.md
//
// An element has an entry in the owner's table and one in the user's table. An RDMA write and an
// Update lie between them, so the owner's entry may still be POSTED while the user's is WRITING,
// but never the reverse.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/state_edges.h"

namespace splitnic::messaging {

// A pool, at its owner.
enum class PoolState : std::uint8_t {
  kFree,        // not known to the peer; no message or idata may name it
  kAdvertised,  // the peer may write
  kFlushing,    // one side requested the end; late indications are still accepted
};
enum class PoolEvent : std::uint8_t { kAdvertised, kFlushBegun, kFlushEnded };
inline constexpr auto kPoolEdges = std::to_array<base::StateEdge<PoolState, PoolEvent>>({
    {PoolState::kFree, PoolEvent::kAdvertised, PoolState::kAdvertised},
    {PoolState::kAdvertised, PoolEvent::kFlushBegun, PoolState::kFlushing},
    {PoolState::kFlushing, PoolEvent::kFlushEnded, PoolState::kFree},
});

// An element, at the owner of its pool.
enum class OwnerElement : std::uint8_t {
  kPosted,    // the peer may write; its content is not ours to read
  kFilled,    // indicated; our reader has it and no one writes
  kReleased,  // released by our reader; the peer does not know it yet
  kReturned,  // the Update is sent: posted again, after at least one use
};
enum class OwnerEvent : std::uint8_t { kIndicated, kReleased, kUpdateSent };
inline constexpr auto kOwnerEdges = std::to_array<base::StateEdge<OwnerElement, OwnerEvent>>({
    {OwnerElement::kPosted, OwnerEvent::kIndicated, OwnerElement::kFilled},
    {OwnerElement::kFilled, OwnerEvent::kReleased, OwnerElement::kReleased},
    {OwnerElement::kReleased, OwnerEvent::kUpdateSent, OwnerElement::kReturned},
    {OwnerElement::kReturned, OwnerEvent::kIndicated, OwnerElement::kFilled},
});

// An element, at the user of the peer's pool.
enum class UserElement : std::uint8_t {
  kAvailable,  // ours to write
  kWriting,    // a write is posted and has not completed
  kConsumed,   // written; the owner has it until its Update
};
enum class UserEvent : std::uint8_t { kTaken, kCancelled, kWritten, kUpdated };
inline constexpr auto kUserEdges = std::to_array<base::StateEdge<UserElement, UserEvent>>({
    {UserElement::kAvailable, UserEvent::kTaken, UserElement::kWriting},
    {UserElement::kWriting, UserEvent::kCancelled, UserElement::kAvailable},
    {UserElement::kWriting, UserEvent::kWritten, UserElement::kConsumed},
    {UserElement::kWriting, UserEvent::kUpdated, UserElement::kAvailable},  // overtook the ACK
    {UserElement::kConsumed, UserEvent::kUpdated, UserElement::kAvailable},
});

constexpr std::optional<PoolState> next(PoolState s, PoolEvent e) {
  return base::next_state(kPoolEdges, s, e);
}
constexpr std::optional<OwnerElement> next(OwnerElement s, OwnerEvent e) {
  return base::next_state(kOwnerEdges, s, e);
}
constexpr std::optional<UserElement> next(UserElement s, UserEvent e) {
  return base::next_state(kUserEdges, s, e);
}
static_assert(!next(OwnerElement::kReleased, OwnerEvent::kIndicated));  // [S001-14]
static_assert(!next(UserElement::kAvailable, UserEvent::kUpdated));     // [P-40]

constexpr std::string_view name(PoolState s) {
  constexpr auto kNames = std::to_array<std::string_view>({"FREE", "ADVERTISED", "FLUSHING"});
  return kNames.at(static_cast<std::size_t>(s));
}
constexpr std::string_view name(OwnerElement s) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"POSTED", "FILLED", "RELEASED", "RETURNED"});
  return kNames.at(static_cast<std::size_t>(s));
}
constexpr std::string_view name(UserElement s) {
  constexpr auto kNames = std::to_array<std::string_view>({"AVAILABLE", "WRITING", "CONSUMED"});
  return kNames.at(static_cast<std::size_t>(s));
}

}  // namespace splitnic::messaging
