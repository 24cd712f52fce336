// Counters of a switch. A cell that came in was forwarded, was for the switch, waits, or has been
// dropped for one of these reasons.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"

namespace splitnic::fabric {

enum class SwitchCounter {
  kRxCell,
  kTxCell,      // forwarded
  kMgmt,        // for the switch itself
  kTxMgmt,      // its replies
  kTxDropMgmt,  // a reply that found no room at its port
  kDropCrc,     // cell CRC, or too short for one
  kDropVersion,
  kDropSource,     // from a node, with a LID that is not the node's
  kDropPartition,  // of which the node at its port, or at the port it leaves by, is no member
  kDropLid,        // no port leads to this LID
  kDropSamePort,   // it leaves where it came in: the tables of two switches differ
  kDropMgmt,       // for the switch, and nothing that it serves
  kDropMgmtRate,   // for the switch, and too many of its port
  kDropSubnet,     // an SMP with another SLID than that of the switch at the cable, 0 from a node
  kDropDown,     // the link it leaves by is down, or one of its links is held by the subnet manager
  kDropTooLong,  // longer than the next link takes
  kDropStalled,  // its output has made inputs wait for too long, or its input has too much there
  kDropLane,     // full profile: no MGMT, on the lane of MGMT, which has no credits
  kWait,         // did not fit the output at once
  kLinkChange,   // no cell: the link of a cable came up or went down
  kNodeUp,       // no cell: that of a node came up
  kCount_
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::SwitchCounter> {
  static constexpr std::array<std::string_view,
                              static_cast<std::size_t>(splitnic::fabric::SwitchCounter::kCount_)>
      kNames{"switch.rx.cell",        "switch.tx.cell",        "switch.mgmt",
             "switch.tx.mgmt",        "switch.tx.drop.mgmt",   "switch.drop.crc",
             "switch.drop.version",   "switch.drop.source",    "switch.drop.partition",
             "switch.drop.lid",       "switch.drop.same_port", "switch.drop.mgmt",
             "switch.drop.mgmt_rate", "switch.drop.subnet",    "switch.drop.down",
             "switch.drop.too_long",  "switch.drop.stalled",   "switch.drop.lane",
             "switch.wait",           "switch.link_change",    "switch.node_up"};
};
