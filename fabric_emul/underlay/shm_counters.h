// Counters of a shared-memory underlay.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"

namespace splitnic::fabric {

enum class ShmCounter {
  kClients,
  kClientsGone,
  kDropBroken,     // wire ended: its peer wrote indices or lengths that cannot be
  kDropHandshake,  // no segment for a client, or a handshake that is not valid
  kRefusedFull,    // connection refused: clients_max reached
  kRefusedRate,    // connection refused: too many in this time, of this user or of all
  kRefusedShare,   // connection refused: this user has as many as one user may have
  kRefusedUser,    // connection refused: another user's process
  kCount_
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::ShmCounter> {
  static constexpr std::array<std::string_view,
                              static_cast<std::size_t>(splitnic::fabric::ShmCounter::kCount_)>
      kNames{"shm.clients",      "shm.clients_gone", "shm.drop.broken",   "shm.drop.handshake",
             "shm.refused.full", "shm.refused.rate", "shm.refused.share", "shm.refused.user"};
};
