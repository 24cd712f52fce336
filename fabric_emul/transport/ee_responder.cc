// The receiving half of an end-to-end context.
#include "fabric_emul/transport/ee_context.h"
#include "fabric_emul/transport/ee_table.h"
#include "fabric_emul/transport/send_cell.h"

namespace splitnic::fabric {

// Cells are taken in the order of PSN and CSN, each once.
void EeContext::on_request(const CellView& cell) {
  const std::int32_t ahead = cell.header.psn - expected_;
  if (ahead < 0) {
    return on_duplicate(cell);
  }
  if (ahead == 0 && ends_message(cell)) {
    drop_message();
    message_.reset();
  }
  const std::uint32_t csn = cell.header.csn;
  if (ahead > 0 || (message_.takes_several_cells() && csn > message_.next_csn)) {
    counters_.add(TransportCounter::kRxOutOfOrder);
    if (!is_gap_nak_sent_) is_gap_nak_due_ = true;
    return;
  }
  if (csn < message_.next_csn) {
    counters_.add(TransportCounter::kRxDuplicate);
    is_progress_due_ |= (cell.header.flags & kFlagAckRequest) != 0;
    return;
  }
  take(cell);
}

// Of a message that has its result.
void EeContext::on_duplicate(const CellView& cell) {
  counters_.add(TransportCounter::kRxDuplicate);
  Result& result = result_of(cell.header.psn);
  if (!result.is_kept || result.psn != cell.header.psn || result.is_due) return;
  result.is_due = true;
  ++due_count_;
}

// The sender has given up a message, of which it has sent the first cells: this is what it sends in
// its place.
bool EeContext::ends_message(const CellView& cell) const {
  return message_.has_begun() && cell.header.pos == Pos::kOnly && cell.header.dqpn == Qpn{};
}

void EeContext::drop_message() {
  if (message_qp_ != nullptr) message_qp_->drop_rd(message_);
  message_qp_ = nullptr;
}

// The message stays begun, so that its next cell is the expected one, and is refused.
void EeContext::drop_message_of(const Qp& qp) {
  if (message_qp_ == &qp) drop_message();
}

void EeContext::take(const CellView& cell) {
  is_gap_nak_due_ = is_gap_nak_sent_ = false;
  const MacHeader& h = cell.header;
  Result& result = result_of(h.psn);
  const RdResult what = execute(cell, result.response);
  if (!what.is_whole) {
    progress_credits_ = what.receive_credits;
    is_progress_due_ |= (h.flags & kFlagAckRequest) != 0;
    return;
  }
  drop_message();
  message_.reset();
  is_progress_due_ = false;
  if (result.is_due) --due_count_;  // the sender has that result, or it would not send this
  result.is_kept = result.is_due = true;
  ++due_count_;
  ++expected_;
  result.psn = h.psn;
  result.csn = h.csn;
  result.source = h.sqpn;
  result.destination = h.dqpn;
  result.request = h.op;
  result.what = what;
  if (what.code == AckCode::kAck) msn_ = (msn_ + 1) & 0xFFFFFF;
  result.msn = msn_;
}

// A response's payload is left in `response`.
RdResult EeContext::execute(const CellView& cell, std::vector<std::byte>& response) {
  const MacHeader& h = cell.header;
  RdResult refused;
  refused.code = AckCode::kInvalidRdRequest;
  if (!message_.has_begun()) {
    message_.source = h.sqpn;
    message_.destination = h.dqpn;
  } else if (h.sqpn != message_.source || h.dqpn != message_.destination) {
    refused.code = AckCode::kInvalidRequest;
    return refused;
  }
  Qp* qp = queue_pairs_.find_rd(h.dqpn);
  if (qp == nullptr) {
    counters_.add(TransportCounter::kCellDropQp);
    return refused;
  }
  if (!message_.has_begun()) message_qp_ = qp;
  const RdResult what = qp->execute_rd(cell, message_, response);
  queue_pairs_.wake(*qp);
  return what;
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
  if (is_gap_nak_due_ && !send_sequence_nak()) return false;
  return !is_progress_due_ || send_progress();
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
  h.csn = result.csn;
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
  head.header.csn = static_cast<std::uint16_t>(message_.next_csn);
  head.ee = remote_;
  head.ack = &ack;
  if (send_cell(*link_, head, NoPayload{}) == 0) return false;
  counters_.add(TransportCounter::kTxNaks);
  is_gap_nak_due_ = false;
  is_gap_nak_sent_ = true;
  return true;
}

// Acknowledges the cells of the message that are here.
bool EeContext::send_progress() {
  AckExt ack;
  ack.msn = msn_;
  ack.receive_credits = progress_credits_;
  CellHead head;
  MacHeader& h = head.header;
  h = header(Op::kAck);
  h.dqpn = message_.source;
  h.sqpn = message_.destination;
  h.psn = expected_;
  h.csn = static_cast<std::uint16_t>(message_.next_csn - 1);
  head.ee = remote_;
  head.ack = &ack;
  if (send_cell(*link_, head, NoPayload{}) == 0) return false;
  counters_.add(TransportCounter::kTxAcks);
  is_progress_due_ = false;
  return true;
}

}  // namespace splitnic::fabric
