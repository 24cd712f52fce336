// TERMINATE on RC: a queue pair that ends itself reports the reason to the peer, whose queue pair
// ends too [S002-33]. docs/protocol/terminate.md#on-rc
#include <array>

#include "fabric_emul/transport/qp.h"
#include "fabric_emul/transport/send_cell.h"

namespace splitnic::fabric {

// Stays due while the link has no room or is down.
void Qp::send_terminate() {
  if (!is_terminate_due_ || context_.link == nullptr || !context_.link->up()) return;
  Link& link = *context_.link;
  CellHead head;
  head.header = context_.header(Op::kTerminate, Pos::kOnly, link);
  head.header.psn = requester_.next_psn();
  head.header.payload_bytes = kTerminateBytes;
  Terminate cause;
  cause.handle = *context_.terminates;
  std::array<std::byte, kTerminateBytes> payload;
  cause.emit(payload.data());
  if (send_cell(link, head, CopyOf{payload}) == 0) return;
  context_.counters.add(TransportCounter::kTxTerminate);
  is_terminate_due_ = false;
}

// The peer's queue pair is in ERR. The PSN is that of its next request; a TERMINATE with another is
// of an old connection, or forged.
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
