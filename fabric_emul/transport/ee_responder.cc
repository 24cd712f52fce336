// The receiving half of an end-to-end context.
#include "fabric_emul/transport/ee_context.h"
#include "fabric_emul/transport/ee_table.h"
#include "fabric_emul/transport/send_cell.h"

namespace splitnic::fabric {

// Requests are taken in PSN order, each once.
void EeContext::on_request(const CellView& cell) {
  const std::int32_t ahead = cell.header.psn - expected_;
  Result& result = result_of(cell.header.psn);
  if (ahead < 0) {
    counters_.add(TransportCounter::kRxDuplicate);
    if (!result.is_kept || result.psn != cell.header.psn || result.is_due) return;
    result.is_due = true;
    ++due_count_;
    return;
  }
  if (ahead > 0) {
    counters_.add(TransportCounter::kRxOutOfOrder);
    if (!is_gap_nak_sent_) is_gap_nak_due_ = true;
    return;
  }
  if (result.is_due) --due_count_;  // the sender has that result, or it would not send this
  execute(cell, result);
  ++due_count_;
  ++expected_;
  is_gap_nak_due_ = is_gap_nak_sent_ = false;
}

void EeContext::execute(const CellView& cell, Result& result) {
  result.is_kept = result.is_due = true;
  result.psn = cell.header.psn;
  result.source = cell.header.sqpn;
  result.destination = cell.header.dqpn;
  result.request = cell.header.op;
  result.what = RdResult{};
  Qp* qp = queue_pairs_.find_rd(cell.header.dqpn);
  if (qp != nullptr) {
    result.what = qp->execute_rd(cell, result.response);
    queue_pairs_.wake(*qp);
  } else {
    counters_.add(TransportCounter::kCellDropQp);
    result.what.code = AckCode::kInvalidRdRequest;
  }
  if (result.what.code == AckCode::kAck) msn_ = (msn_ + 1) & 0xFFFFFF;
  result.msn = msn_;
}

// Returns false when the link has no room now; what is left stays due.
bool EeContext::send_results() {
  // The oldest first: results_ is a ring of the PSNs before expected_.
  for (std::uint32_t i = kEeWindow; due_count_ > 0 && i > 0; --i) {
    Result& result = result_of(expected_ - i);
    if (!result.is_due) continue;
    if (!send_result(result)) return false;
    result.is_due = false;
    --due_count_;
  }
  return !is_gap_nak_due_ || send_sequence_nak();
}

bool EeContext::send_result(const Result& result) {
  CellHead head;
  MacHeader& h = head.header;
  AckExt ack;
  ack.code = result.what.code;
  ack.detail = result.what.detail;
  ack.msn = result.msn;
  ack.receive_credits = result.what.receive_credits;
  base::Bytes payload;
  if (result.what.has_response) {
    h = header(result.request == Op::kFetchOpReq ? Op::kFetchOpResp : Op::kRdmaReadResp);
    payload = result.response;
  } else {
    h = header(ack.code == AckCode::kAck ? Op::kAck : Op::kNak);
    head.ack = &ack;
  }
  h.dqpn = result.source;
  h.sqpn = result.destination;
  h.psn = result.psn;
  h.payload_bytes = static_cast<std::uint16_t>(payload.size());
  head.ee = remote_;
  if (send_cell(*link_, head, CopyOf{payload}) == 0) return false;
  if (result.what.has_response) {
    counters_.add(TransportCounter::kTxCells);
  } else {
    counters_.add(ack.code == AckCode::kAck   ? TransportCounter::kTxAcks
                  : ack.code == AckCode::kRnr ? TransportCounter::kTxRnr
                                              : TransportCounter::kTxNaks);
  }
  return true;
}

bool EeContext::send_sequence_nak() {
  AckExt ack;
  ack.code = AckCode::kSequence;
  ack.msn = msn_;
  CellHead head;
  head.header = header(Op::kNak);
  head.header.psn = expected_;
  head.ee = remote_;
  head.ack = &ack;
  if (send_cell(*link_, head, NoPayload{}) == 0) return false;
  counters_.add(TransportCounter::kTxNaks);
  is_gap_nak_due_ = false;
  is_gap_nak_sent_ = true;
  return true;
}

}  // namespace splitnic::fabric
