// Counters of the STREAM service. Every drop of a cell is counted by one of these.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"

namespace splitnic::fabric {

enum class StreamCounter {
  kTxCells,
  kTxBytes,
  kTxRetransmit,
  kTxAcks,
  kTxTerminates,
  kRxCells,
  kRxBytes,
  kRxAcks,
  kRxTerminates,
  kEarly,
  kDropSource,
  kDropPartition,
  kDropState,
  kDropFormat,
  kDropService,
  kDropOld,
  kDropWindow,
  kDropOrder,
  kDropEarlyFull,
  kDropNoReceive,
  kDropAccess,
  kDropRefused,
  kDropAck,
  kAckLate,
  kDropTerminate,
  kTimeouts,
  kErrors,
  kCqOverflow,
  kCount_
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::StreamCounter> {
  static constexpr std::array<std::string_view, 28> kNames = {
      "fabric.stream.tx.cells",        "fabric.stream.tx.bytes",
      "fabric.stream.tx.retransmit",   "fabric.stream.tx.acks",
      "fabric.stream.tx.terminates",   "fabric.stream.rx.cells",
      "fabric.stream.rx.bytes",        "fabric.stream.rx.acks",
      "fabric.stream.rx.terminates",   "fabric.stream.rx.early",
      "fabric.stream.drop.source",     "fabric.stream.drop.partition",
      "fabric.stream.drop.state",      "fabric.stream.drop.format",
      "fabric.stream.drop.service",    "fabric.stream.drop.old",
      "fabric.stream.drop.window",     "fabric.stream.drop.order",
      "fabric.stream.drop.early_full", "fabric.stream.drop.no_receive",
      "fabric.stream.drop.access",     "fabric.stream.drop.refused",
      "fabric.stream.drop.ack",        "fabric.stream.ack_late",
      "fabric.stream.drop.terminate",  "fabric.stream.timeout",
      "fabric.stream.error",           "fabric.stream.cq_overflow"};
};
