// TERMINATE on RC: a queue pair that ends itself tells the peer why, and the peer's ends too
// [S002-33]. docs/wire/terminate.md#on-rc
#include <array>

#include "fabric_emul/transport/qp.h"

namespace splitnic::fabric {

// Stays owed while the link has no room or is down.
void Qp::send_terminate() {
  if (!owes_terminate_ || context_.link == nullptr || !context_.link->up()) return;
  Link& link = *context_.link;
  CellHead head;
  MacHeader& h = head.header;
  h.sl = context_.attr.sl;
  h.pos = Pos::kOnly;
  h.op = Op::kTerminate;
  h.service = context_.service;
  h.dlid = context_.attr.remote_lid;
  h.slid = link.local_lid();
  h.dqpn = context_.attr.remote_qpn;
  h.sqpn = context_.qpn;
  h.psn = requester_.next_psn();
  h.payload_bytes = kTerminateBytes;
  const base::MutableBytes room =
      link.reserve(cell_bytes(head, kTerminateBytes), link.lane_of(h.sl));
  if (room.empty()) return;
  Terminate cause;
  cause.handle = *context_.terminates;
  std::array<std::byte, kTerminateBytes> payload;
  cause.emit(payload.data());
  link.commit(emit_cell(room, head, payload, link.crc_head_only()));
  context_.counters.add(TransportCounter::kTxTerminate);
  owes_terminate_ = false;
}

// The peer's queue pair is in ERR. Its PSN is the next of its requests: what names another is of an
// old connection, or guessed.
void Qp::on_terminate(const CellView& cell) {
  const auto cause = Terminate::parse(cell.payload);
  const std::int32_t ahead = cell.header.psn - responder_.expected_psn();
  if (!cause) return context_.counters.add(TransportCounter::kCellDropFormat);
  if (ahead < 0 || ahead > kTerminateAheadMax) {
    return context_.counters.add(TransportCounter::kCellDropWindow);
  }
  context_.counters.add(TransportCounter::kRxTerminate);
  ended_by_peer_ = cause;
  enter_error();
}

}  // namespace splitnic::fabric
