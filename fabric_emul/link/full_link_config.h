// What both halves of a full-profile link are told at start. docs/wire/flit.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "base/counters.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

struct FullLinkConfig {
  std::uint16_t lanes_mask = 0x800F;  // data 0..3, management 15
  std::uint16_t high_mask = 0x0008;
  std::size_t flit_payload_max = kFlitPayloadDefault;  // 120 .. 65535
  std::size_t cell_bytes_max = 2048;
  std::uint32_t receive_blocks = 256;        // buffer of each data lane here: granted at start
  std::uint32_t peer_receive_blocks = 256;   // what the peer's INIT granted
  std::size_t lane_queue_bytes = 64 * 1024;  // cells that wait to be sent, each lane
  std::size_t window = 256;                  // flits kept for retry
  // At least; longer where the measured round trip asks for it. first_timeout: until one was.
  base::Duration retry_timeout = std::chrono::milliseconds(1);
  base::Duration first_timeout = std::chrono::milliseconds(10);
  unsigned failures_max = 16;
  base::Duration idle = std::chrono::milliseconds(10);
  unsigned idle_missing_max = 3;
  friend bool operator==(const FullLinkConfig&, const FullLinkConfig&) = default;
};

enum class FullLinkCounter {
  kTxFlit,
  kTxResend,
  kTxControl,
  kRxCell,
  kRxRepeated,
  kRxDropType,    // its CRC does not cover the payload
  kRxDropGap,     // DATA behind a missing one; comes again
  kRxDropAck,     // acknowledges what was never sent: nothing of the flit is believed
  kRxDropCredit,  // older credit limit, ignored
  kRxDropLane,    // lane that is not open
  kRxDropCell,    // flits that make no cell: no SOF, SOF inside, too long
  kRxDropBuffer,  // the peer sent more than was granted
  kDead,
  kCount_
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::FullLinkCounter> {
  static constexpr std::array<std::string_view,
                              static_cast<std::size_t>(splitnic::fabric::FullLinkCounter::kCount_)>
      kNames{"link.full.tx.flit",      "link.full.tx.resend",    "link.full.tx.control",
             "link.full.rx.cell",      "link.full.rx.repeated",  "link.full.rx.drop.type",
             "link.full.rx.drop.gap",  "link.full.rx.drop.ack",  "link.full.rx.drop.credit",
             "link.full.rx.drop.lane", "link.full.rx.drop.cell", "link.full.rx.drop.buffer",
             "link.full.dead"};
};
