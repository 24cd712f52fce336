// Counters of a port that is attached to a switch.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"

namespace splitnic::fabric {

enum class AttachmentCounter {
  kTxCell,
  kTxControl,      // INIT and IDLE of paths
  kTxDropDown,     // datagram while there is no switch, or its name is not resolved
  kTxDropBlocked,  // datagram, its end, or a cell for the switch, that did not fit the batch to it
  kRxCell,
  kRxDropPeer,         // of a peer that is no switch
  kRxDropLid,          // for another LID than ours, or from none that a port may have
  kRxDropPartition,    // of a partition that the node is no member of
  kRxDropCell,         // of an unknown version, or one that is not valid: management, with a GNH
  kRxDropNetwork,      // the GNH is not as it must be, or there is no network address or no room
  kRxDropDestination,  // for another network address than ours
  kRxDropOrigin,  // with a GNH and not by a router, or from our subnet, or a datagram of no peer
  kResolved,
  kSmp,        // of the subnet manager, which got a reply
  kRxDropSmp,  // that is none for a node
  kCount_
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::AttachmentCounter> {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(
                                                    splitnic::fabric::AttachmentCounter::kCount_)>
      kNames{"path.tx.cell",
             "path.tx.control",
             "path.tx.drop.down",
             "path.tx.drop.blocked",
             "path.rx.cell",
             "path.rx.drop.peer",
             "path.rx.drop.lid",
             "path.rx.drop.partition",
             "path.rx.drop.cell",
             "path.rx.drop.network",
             "path.rx.drop.destination",
             "path.rx.drop.origin",
             "path.resolved",
             "path.smp",
             "path.rx.drop.smp"};
};
