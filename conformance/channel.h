// One direction pair of a connection: the numbers that come next, and the cells of the target that
// have come.
#pragma once

#include <cstdint>
#include <deque>

#include "conformance/event.h"

namespace splitnic::conformance {

// The part of a cell of the target that stays when it comes once more. Its flags may change.
struct SentCell {
  fabric::Psn psn{};
  std::uint16_t csn = 0;
  fabric::Pos pos{};
  fabric::Op op{};
  std::uint32_t crc = 0;  // of its extensions and its payload
  bool operator==(const SentCell&) const = default;
};
SentCell as_sent(const fabric::CellView& view);

struct Channel {
  fabric::Service service = fabric::Service::kRc;
  fabric::Qpn own{}, peer{};
  fabric::Psn psn{};  // of the next packet that we send
  fabric::Lcn lcn{};
  std::uint16_t mcp = 0;
  std::uint16_t reads_served = 0;  // RDMA reads and FetchOps that the target accepts in flight
  // Of the target's next cell.
  fabric::Psn expected_psn{};
  fabric::Lcn expected_lcn{};
  std::uint16_t expected_csn = 0;
  bool asked_for_ack = false;    // the last cell had flag A
  bool has_packet_crcs = false;  // as the target has stated
  fabric::Op op{};               // of the packet that has begun
  std::uint32_t completed = 0;   // packets, 24 bits
  ByteVector partial;
  fabric::PacketCrc packet_crc;  // of `partial`
  Event packet{};                // that has begun
  std::deque<SentCell> taken;    // the newest ones; the last is that before expected_lcn
};

}  // namespace splitnic::conformance
