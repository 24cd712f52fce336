// Counters of the session layer of one port. Every datagram that is dropped has exactly one name.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"

namespace splitnic::fabric::session {

enum class SessionCounter {
  kTxInitiation,
  kTxResponse,
  kTxCookie,
  kTxRecord,
  kTxDropNoKeys,  // datagram for a peer with which there is no session now
  kRxInitiation,  // accepted
  kRxResponse,
  kRxCookie,
  kRxRecord,
  kRxDropFormat,      // type, length, version or reserved bytes
  kRxDropIndex,       // no keys or attempt of this number
  kRxDropMac,         // mac1 is wrong
  kRxDropBudget,      // more key agreements or cookies than the limits allow
  kRxDropHandshake,   // INITIATION, RESPONSE or COOKIE that does not decrypt, or is late
  kRxDropUnknownKey,  // INITIATION of a key that is not allowed
  kRxDropAddress,     // INITIATION or record of a peer that may not be there
  kRxDropStamp,       // INITIATION that is not newer than the last
  kRxDropSecond,      // INITIATION of a second process, elsewhere, with the key of one in use
  kRxDropTag,         // record that does not open
  kRxDropReplay,      // record that arrived before, or is too old
  kRxDropExpired,     // record under keys that are beyond their time or number of records
  kEstablished,       // keys of a peer that had none
  kRekeyed,
  kRoamed,     // a peer is at another address
  kReclaimed,  // an earlier process of a peer is back: two have its key
  kExpired,    // keys ended without others to replace them
  kCount_
};

}  // namespace splitnic::fabric::session

template <>
struct splitnic::base::CounterNames<splitnic::fabric::session::SessionCounter> {
  static constexpr std::array<std::string_view,
                              static_cast<std::size_t>(
                                  splitnic::fabric::session::SessionCounter::kCount_)>
      kNames{"session.tx.initiation",
             "session.tx.response",
             "session.tx.cookie",
             "session.tx.record",
             "session.tx.drop.no_keys",
             "session.rx.initiation",
             "session.rx.response",
             "session.rx.cookie",
             "session.rx.record",
             "session.rx.drop.format",
             "session.rx.drop.index",
             "session.rx.drop.mac",
             "session.rx.drop.budget",
             "session.rx.drop.handshake",
             "session.rx.drop.unknown_key",
             "session.rx.drop.address",
             "session.rx.drop.stamp",
             "session.rx.drop.second",
             "session.rx.drop.tag",
             "session.rx.drop.replay",
             "session.rx.drop.expired",
             "session.established",
             "session.rekeyed",
             "session.roamed",
             "session.reclaimed",
             "session.expired"};
};
