// Counters of the transport. Every drop of a cell is counted by one of these.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"

namespace splitnic::fabric {

enum class TransportCounter {
  kTxCells,
  kTxBytes,
  kTxPredicted,  // cells that were sent in a run, requester_run.cc
  kTxRetransmit,
  kTxAcks,
  kTxNaks,
  kTxRnr,
  kRxCells,
  kRxBytes,
  kRxPredicted,  // cells that were taken in a run, responder_run.cc
  kRxAcks,
  kRxNaks,
  kRxDuplicate,
  kRxOutOfOrder,
  kRxCopied,  // cells that waited in the reorder buffer; all others are placed directly
  kCellDropCrc,
  kCellDropFormat,
  kCellDropQp,
  kCellDropState,
  kCellDropSource,
  kCellDropPartition,
  kCellDropReorderFull,
  kCellDropMemory,  // it came early, and the memory of its peer is used up
  kCellDropWindow,
  kDropUcSequence,
  kDropUcLost,
  kDropUdNoReceive,
  kDropUdLength,
  kDropAccess,
  kDropNoReceive,
  kAckStale,
  kPacketCrc,
  kTimeouts,
  kQpErrors,
  kCqOverflow,
  kRnrSeen,
  kReadDropStale,
  kReadDropRepeated,
  kReadRetransmit,
  kQpDrained,
  kTxTerminate,
  kRxTerminate,
  kCellDropEe,     // of a context that does not exist
  kEeErrors,       // contexts that have ended
  kDropRawHeader,  // no IPv6 header, or one that is not that of the payload
  kDropRawFilter,  // no queue pair has registered it
  kDropRawNoReceive,
  kDropRawLength,
  kDropNoLink,  // of UD or Raw, to a LID that no link leads to
  kCount_
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::TransportCounter> {
  static constexpr std::array<std::string_view, 49> kNames = {"fabric.tx.cells",
                                                              "fabric.tx.bytes",
                                                              "fabric.tx.predicted",
                                                              "fabric.rc.retransmit",
                                                              "fabric.tx.acks",
                                                              "fabric.tx.naks",
                                                              "fabric.tx.rnr",
                                                              "fabric.rx.cells",
                                                              "fabric.rx.bytes",
                                                              "fabric.rx.predicted",
                                                              "fabric.rx.acks",
                                                              "fabric.rx.naks",
                                                              "fabric.rx.duplicate",
                                                              "fabric.rx.out_of_order",
                                                              "fabric.rx.copied",
                                                              "fabric.cell.drop.crc",
                                                              "fabric.cell.drop.format",
                                                              "fabric.cell.drop.qp",
                                                              "fabric.cell.drop.state",
                                                              "fabric.cell.drop.source",
                                                              "fabric.cell.drop.partition",
                                                              "fabric.cell.drop.reorder_full",
                                                              "fabric.cell.drop.memory",
                                                              "fabric.cell.drop.window",
                                                              "fabric.uc.drop.sequence",
                                                              "fabric.uc.lost",
                                                              "fabric.ud.drop.no_receive",
                                                              "fabric.ud.drop.length",
                                                              "fabric.drop.access",
                                                              "fabric.drop.no_receive",
                                                              "fabric.ack.stale",
                                                              "fabric.cell.drop.packet_crc",
                                                              "fabric.rc.timeout",
                                                              "fabric.qp.error",
                                                              "fabric.cq.overflow",
                                                              "fabric.rx.rnr",
                                                              "fabric.read.drop.stale",
                                                              "fabric.read.drop.again",
                                                              "fabric.read.retransmit",
                                                              "fabric.qp.drained",
                                                              "fabric.tx.terminate",
                                                              "fabric.rx.terminate",
                                                              "fabric.cell.drop.ee",
                                                              "fabric.ee.error",
                                                              "fabric.raw.drop.header",
                                                              "fabric.raw.drop.filter",
                                                              "fabric.raw.drop.no_receive",
                                                              "fabric.raw.drop.length",
                                                              "fabric.tx.drop.no_link"};
};
