// Counters of a port. Every drop of a received datagram, flit or cell has exactly one name.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"

namespace splitnic::fabric {

enum class LinkCounter {
  kTxFlit,      // with a cell or a part of one; the full profile counts its own
  kTxFragment,  // a part of a cell that is longer than the path carries
  kTxBatch,
  kTxBytes,
  kTxBlocked,
  kTxInit,
  kTxIdle,
  kTxDropRefused,  // batch lost: the underlay reported that the peer or the path is not there
  kTxDropTooLong,  // batch lost: the path no longer carries datagrams of this length
  kTxDropControl,  // INIT or IDLE not taken by the underlay; timers repeat it
  kTxDropDown,     // batch dropped because its link went down or its peer restarted
  kRxBatch,
  kRxDatagram,
  kRxBytes,
  kRxFlit,
  kRxCell,
  kRxFragment,
  kRxInit,
  kRxIdle,
  kRxDropCrc,
  kRxDropSize,       // flit cut off, longer than its datagram, or too short for a cell
  kRxDropType,       // unknown type, or one that the profile does not use
  kRxDropCtl,        // not a whole cell, or a CRC mode that was not agreed
  kRxDropFragment,   // fragment out of its order, or cell of which fragments are missing
  kRxDropPeer,       // flit from an address that has no link
  kRxDropState,      // flit for a link that is not up, or that ended in the same batch
  kRxDropSession,    // datagram of the session layer
  kRxDropOverflow,   // more cells in a batch than any legal batch holds
  kRxDropInit,       // INIT that does not parse, is not alone, or that this side does not accept
  kRxDropInitRate,   // HELLO or ANSWER beyond what is served in a second
  kRxDropChallenge,  // INIT with a token or echo that is not ours
  kRxDropIdentity,   // keyed: INIT of a host with an EUI-64 that is not that of its key
  kUp,
  kDown,
  kPeerRestart,
  kNarrowed,  // the path carries less than before
  kRefused,   // INIT that got REFUSE, or REFUSE received
  kCount_
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::LinkCounter> {
  static constexpr std::array<std::string_view,
                              static_cast<std::size_t>(splitnic::fabric::LinkCounter::kCount_)>
      kNames{"link.tx.flit",
             "link.tx.fragment",
             "link.tx.batch",
             "link.tx.bytes",
             "link.tx.blocked",
             "link.tx.init",
             "link.tx.idle",
             "link.tx.drop.refused",
             "link.tx.drop.too_long",
             "link.tx.drop.control",
             "link.tx.drop.down",
             "link.rx.batch",
             "link.rx.datagram",
             "link.rx.bytes",
             "link.rx.flit",
             "link.rx.cell",
             "link.rx.fragment",
             "link.rx.init",
             "link.rx.idle",
             "link.rx.drop.crc",
             "link.rx.drop.size",
             "link.rx.drop.type",
             "link.rx.drop.ctl",
             "link.rx.drop.fragment",
             "link.rx.drop.peer",
             "link.rx.drop.state",
             "link.rx.drop.session",
             "link.rx.drop.overflow",
             "link.rx.drop.init",
             "link.rx.drop.init_rate",
             "link.rx.drop.challenge",
             "link.rx.drop.identity",
             "link.up",
             "link.down",
             "link.peer_restart",
             "link.path_narrowed",
             "link.refused"};
};
