// Settings and counters of a full-profile link. docs/protocol/flit.md#full-profile
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
  std::uint16_t lanes_mask = 0x800F;                   // data 0..3, management 15
  std::size_t flit_payload_max = kFlitPayloadDefault;  // 120 .. 65535
  std::size_t cell_bytes_max = 2048;
  std::uint32_t receive_blocks = 256;        // buffer of each data lane: granted at start
  std::uint32_t peer_receive_blocks = 256;   // granted by the peer's INIT
  std::size_t lane_queue_bytes = 64 * 1024;  // cells that wait to be sent, per lane
  std::size_t window = 256;                  // flits kept for retry
  // The minimum; longer where the measured round-trip time requires it. first_timeout: before the
  // first measurement.
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
  kRxDropType,    // the flit CRC does not cover the payload
  kRxDropGap,     // DATA after a missing flit; it is retransmitted
  kRxDropAck,     // acknowledges a flit that was never sent: the flit is dropped whole
  kRxDropCredit,  // older credit limit, ignored
  kRxDropLane,    // lane that is not open
  kRxDropCell,    // flits that form no cell: no SOF, SOF inside, too long
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
