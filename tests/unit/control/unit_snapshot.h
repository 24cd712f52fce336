// The snapshot of an I/O unit with one host, for tests of the texts that show one.
#pragma once

#include <utility>

#include "control/report/snapshot.h"

namespace splitnic::control {

inline Snapshot unit_snapshot(PeerInfo peer) {
  Snapshot s;
  s.role = "iou";
  s.name = "unit";
  s.state = "up";
  s.peers.push_back(std::move(peer));
  return s;
}

}  // namespace splitnic::control
