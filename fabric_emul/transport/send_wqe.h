// A send work request as a send queue keeps it: what every service needs of it. The services derive
// their own work queue elements and add what their protocol tracks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "fabric_emul/transport/work_request.h"
#include "fabric_emul/wire/op_table.h"

namespace splitnic::fabric {

struct SendWqe {
  std::uint64_t wr_id = 0;
  WrOp op = WrOp::kSend;
  SgeList gather;
  VirtualAddress remote_address;
  MemoryHandle remote_handle;
  std::optional<std::uint32_t> idata;
  MemoryHandle dereg;
  bool is_fenced = false;
  bool is_solicited = false;
  bool is_started = false;  // its sequence numbers are assigned
  std::uint32_t cells = 1;  // that it sends
  Psn psn;

  // The peer needs a posted receive for it.
  bool consumes_receive() const {
    return op == WrOp::kSend || op == WrOp::kSendDereg || op == WrOp::kRegisterSend ||
           idata.has_value();
  }
};

// The operation of the cells of a work request. REQUIRES !is_local(op).
constexpr Op wire_op(WrOp op) {
  switch (op) {
    case WrOp::kSendDereg:
      return Op::kSendDereg;
    case WrOp::kRdmaWrite:
      return Op::kRdmaWrite;
    case WrOp::kRdmaRead:
      return Op::kRdmaReadReq;
    case WrOp::kFetchOp:
      return Op::kFetchOpReq;
    default:
      break;
  }
  return Op::kSend;
}

// Cells of a packet of this length; an empty packet has one.
constexpr std::uint64_t cells_of(std::uint64_t bytes, std::uint64_t mcp) {
  return bytes <= mcp ? 1 : (bytes + mcp - 1) / mcp;
}

// Payload bytes of cell `csn` of a packet of this length.
constexpr std::uint16_t payload_of(std::uint64_t bytes, std::uint32_t csn, std::uint64_t mcp) {
  return static_cast<std::uint16_t>(std::min(mcp, bytes - csn * mcp));
}

// Whether every piece of the list allows `kind` of access to the queue pair that `Context`
// describes [S002-19].
template <class Context>
bool is_accessible(const Context& context, const SgeList& list, AccessKind kind) {
  return std::ranges::all_of(list.span(), [&](const Sge& piece) {
    return piece.length == 0 ||
           context.mrwt
               .access(piece.lkey, piece.address, piece.length, kind, context.pd, context.qpn)
               .ok();
  });
}

}  // namespace splitnic::fabric
