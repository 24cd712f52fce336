// The response that one RDMA read or FetchOp waits for: which cells of it are in place. Cells come
// in any order and any number of times; each counts once.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "fabric_emul/transport/send_wqe.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

struct ReadSink {
  std::uint64_t wqe_no = 0;
  WrOp op = WrOp::kRdmaRead;
  Psn psn;
  Lcn request_lcn;                   // of the request cell
  std::uint64_t bytes = 0;           // of the whole response
  std::uint32_t cells = 1;           // of the whole response
  std::uint32_t arrived = 0;         // cells
  std::uint32_t missing = 0;         // every cell before it is in place
  std::uint32_t requested_from = 0;  // the newest request names this cell and those behind it
  bool has_request_due = false;      // a request from the first missing cell on is to be sent
  base::Time waits_since{};          // the newest request or cell
  std::vector<bool> is_here;
  PacketCrc crc;  // of the cells before `missing`, if the peer sends flag P
  unsigned crc_failures = 0;

  bool is_whole() const { return arrived == cells; }
  bool has(std::uint32_t csn) const { return is_here[csn]; }
  void take(std::uint32_t csn) {
    is_here[csn] = true;
    ++arrived;
    while (missing < cells && is_here[missing]) ++missing;
  }
  // Operation, position and length are those of a cell of this response [M-07].
  bool is_part(const CellView& cell, std::uint16_t mcp) const {
    const MacHeader& h = cell.header;
    const Op expected = op == WrOp::kRdmaRead ? Op::kRdmaReadResp : Op::kFetchOpResp;
    return h.op == expected && h.csn < cells && h.pos == position_of(h.csn, cells) &&
           cell.payload.size() == payload_of(bytes, h.csn, mcp);
  }
  // The last cell of the response to the newest request.
  bool ends_response(std::uint32_t csn) const {
    return csn + 1 == cells || csn + 1 == requested_from + kResponseCellsMax;
  }
  std::uint32_t cells_in_flight() const {
    return cells - missing < kResponseCellsMax ? cells - missing : kResponseCellsMax;
  }
  void forget_all() {
    arrived = missing = 0;
    is_here.assign(cells, false);
    crc = PacketCrc{};
  }
};

}  // namespace splitnic::fabric
