// The counters of a port. Each direction balances separately:
//   rx.frames + rx.split = frames that read() returned + sum of rx.drop.* without kernel
//   frames that write() took + tx.split = tx.frames + sum of tx.drop.* + pieces that wait
// rx.frames counts reads from the kernel (a super-frame is one), also if the frame was dropped
// afterwards; frames of rx.drop.kernel never reached the port. split counts the pieces beyond the
// first. Pieces wait only while FramePort::write_pending(). Bytes are Ethernet bytes.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"

namespace splitnic::lan {

enum class PortCounter {
  kRxFrames,
  kRxBytes,
  kRxSplit,
  kRxDropShort,     // less than an Ethernet header
  kRxDropTooLong,   // longer than any room for a frame
  kRxDropGso,       // a super-frame whose segments are not known
  kRxDropError,     // the kernel or the capture file reported an error
  kRxDropDetached,  // waited in a queue of the interface when that was detached
  kTxFrames,
  kTxBytes,
  kTxSplit,
  kTxDropShort,    // less than an Ethernet header
  kTxDropTooLong,  // exceeds the MTU of the interface
  kTxDropDown,     // the interface is down or gone
  kTxDropQueue,    // the kernel had no room for it
  kTxDropInvalid,  // headers that the kernel refused, or a super-frame that cannot be split
  kTxDropError,    // any other refusal
  kTxDropClosed,   // a piece that still waited when the port was closed
  kCount_
};

// Returns the tx.drop counter for an errno of the kernel.
PortCounter tx_drop_of(int errno_value);

}  // namespace splitnic::lan

template <>
struct splitnic::base::CounterNames<splitnic::lan::PortCounter> {
  static constexpr std::array<std::string_view, 18> kNames{
      "rx.frames",       "rx.bytes",      "rx.split",         "rx.drop.short", "rx.drop.too_long",
      "rx.drop.gso",     "rx.drop.error", "rx.drop.detached", "tx.frames",     "tx.bytes",
      "tx.split",        "tx.drop.short", "tx.drop.too_long", "tx.drop.down",  "tx.drop.queue",
      "tx.drop.invalid", "tx.drop.error", "tx.drop.closed"};
};
