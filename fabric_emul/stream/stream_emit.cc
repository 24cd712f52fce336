// Cells: retransmissions first, then fresh ones.
#include <algorithm>

#include "fabric_emul/mem/packet_access.h"
#include "fabric_emul/mem/placement.h"
#include "fabric_emul/stream/stream_sender.h"
#include "fabric_emul/stream/stream_terminate.h"
#include "fabric_emul/transport/send_cell.h"

namespace splitnic::fabric {

unsigned StreamSender::transmit(base::Time now, unsigned cells_max) {
  unsigned sent = 0;
  while (sent < cells_max && !context_.has_failed) {
    if (!(in_flight_ < records_.size() ? retransmit(now) : send_fresh(now))) break;
    ++sent;
  }
  return sent;
}

// One cell may always go; a fresh one only within the peer's window.
bool StreamSender::window_has_room(std::uint32_t bytes, bool is_fresh) const {
  if (is_fresh && static_cast<std::uint32_t>(next_number_ - una_) + bytes > window_) return false;
  return in_flight_ == 0 || in_flight_bytes_ + bytes <= congestion_.window();
}

bool StreamSender::retransmit(base::Time now) {
  Record& r = records_[in_flight_];
  if (!window_has_room(r.bytes, false)) return false;
  if (emit(r) == 0) return false;
  context_.counters.add(StreamCounter::kTxRetransmit);
  r.sent_at = now;
  r.is_retransmitted = true;
  ++in_flight_;
  in_flight_bytes_ += r.bytes;
  if (!timer_.is_armed()) timer_.arm(now, congestion_.rto());
  return true;
}

bool StreamSender::send_fresh(base::Time now) {
  if (records_.full() ||
      !window_has_room(context_.mcp + static_cast<std::uint32_t>(kCellOverheadMax), true)) {
    return false;
  }
  if (!open_ && !begin_packet()) return false;
  Record r = *open_;
  r.number = next_number_;
  r.sent_at = now;
  const std::size_t bytes = emit(r);
  if (bytes == 0) return false;
  r.bytes = static_cast<std::uint32_t>(bytes);
  next_number_ = r.end();
  if (r.is_response) ++responses_.at(static_cast<std::uint32_t>(r.item)).next;
  if (r.is_last) {
    open_.reset();
    if (r.is_response) responses_.close_oldest(r.end());
    if (!r.is_response && queue_[r.item].op == WrOp::kRdmaRead) expect_response(r);
  } else {
    ++open_->csn;
    const std::uint32_t cells = r.is_response
                                    ? responses_.at(static_cast<std::uint32_t>(r.item)).cells
                                    : queue_[r.item].cells;
    open_->is_last = open_->csn + 1 == cells;
  }
  records_.push(r);
  ++in_flight_;
  in_flight_bytes_ += r.bytes;
  if (!timer_.is_armed()) timer_.arm(now, congestion_.rto());
  return true;
}

// Begins the next packet; responses and work requests alternate. Returns false when none may begin.
bool StreamSender::begin_packet() {
  const ReadResponse* response = responses_.oldest_open();
  const bool has_request = queue_.has_unsent() && may_start(queue_.next());
  if (context_.has_failed || (response == nullptr && !has_request)) return false;
  open_ = Record{};
  open_->is_response = response != nullptr && (is_response_next_ || !has_request);
  is_response_next_ = !open_->is_response;
  if (open_->is_response) {
    open_->item = response->msn;
    open_->is_last = response->cells == 1;
    return true;
  }
  Wqe& w = queue_.next();
  open_->item = queue_.next_no();
  queue_.advance();
  open_->is_last = w.cells == 1;
  w.psn = next_psn_;
  ++next_psn_;
  w.is_started = true;
  credits_.claim(w);
  if (w.op == WrOp::kRdmaRead) w.msn = next_msn_++;
  return true;
}

// Called when the request was sent: no response can come sooner.
void StreamSender::expect_response(const Record& request) {
  const Wqe& w = queue_[request.item];
  const Sge sink = w.gather.count > 0 ? w.gather.pieces[0] : Sge{};
  reads_.push({request.item, w.psn, sink.lkey, sink.address, sink.length, request.end()});
}

// Local checks [S002-19], open reads, receive credits.
bool StreamSender::may_start(Wqe& w) {
  if (!credits_.permits(w)) return false;
  if (w.op == WrOp::kRdmaRead && reads_.size() >= limits_.max_rd_atomic) return false;
  if (w.is_fenced && !reads_.empty()) return false;
  // The response to a read comes as tagged cells, so its piece must let the peer write.
  const AccessKind kind =
      w.op == WrOp::kRdmaRead ? AccessKind::kRemoteWrite : AccessKind::kLocalRead;
  if (is_accessible(context_, w.gather, kind)) return true;
  // Completions keep their order: the failure waits until those before it are complete.
  if (queue_.next_no() == queue_.head_no()) {
    fail_at(queue_.next_no(), WcStatus::kLocalProtection, Terminate{});
  }
  return false;
}

CellHead StreamSender::request_head(const Wqe& w, std::uint32_t csn) {
  CellHead head;
  head.header = context_.header(wire_op(w.op), position_of(csn, w.cells));
  head.header.psn = w.psn;
  const auto length = static_cast<std::uint32_t>(w.gather.bytes);
  if (w.op == WrOp::kRdmaRead) {
    const Sge sink = w.gather.count > 0 ? w.gather.pieces[0] : Sge{};
    read_ext_ = {.msn = w.msn, .sink_handle = sink.lkey, .sink_offset = sink.address.value};
    head.read = &read_ext_;
    head.va_mh = VaMh{w.remote_address, w.remote_handle, length};
    return head;
  }
  head.header.payload_bytes = payload_of(w.gather.bytes, csn, context_.mcp);
  if (w.op == WrOp::kRdmaWrite) {
    const std::uint64_t at = w.remote_address.value + std::uint64_t{csn} * context_.mcp;
    head.va_mh = VaMh{VirtualAddress(at), w.remote_handle, length};
  }
  if (!is_last(head.header.pos)) return head;
  head.idata = w.idata;
  if (w.op == WrOp::kSendDereg) head.dereg = w.dereg.value;
  return head;
}

CellHead StreamSender::response_head(const ReadResponse& response, std::uint32_t csn) const {
  CellHead head;
  head.header = context_.header(Op::kRdmaReadResp, position_of(csn, response.cells));
  head.header.psn = response.psn;
  head.header.payload_bytes = payload_of(response.source.length, csn, context_.mcp);
  const std::uint64_t at = response.sink_offset + std::uint64_t{csn} * context_.mcp;
  head.va_mh = VaMh{VirtualAddress(at), response.sink_handle, response.source.length};
  return head;
}

CellHead StreamSender::head_of(const Record& record) {
  CellHead head =
      record.is_response
          ? response_head(responses_.at(static_cast<std::uint32_t>(record.item)), record.csn)
          : request_head(queue_[record.item], record.csn);
  head.header.csn = static_cast<std::uint16_t>(record.csn);
  head.stream_number = record.number.value;
  if (record.bytes != 0) head.header.flags |= kFlagRetransmission;
  if (record.is_last) head.header.flags |= kFlagAckRequest;
  return head;
}

// Fills the payload of a cell. The access is checked per cell: memory may be deregistered in
// mid-packet, and a one-touch window may be bound to another range. Then the stream ends.
bool StreamSender::fill(const Record& record, base::MutableBytes body) {
  const std::uint64_t offset = std::uint64_t{record.csn} * context_.mcp;
  if (!record.is_response) {
    const Wqe& w = queue_[record.item];
    if (w.op == WrOp::kRdmaRead) return true;
    if (gather(context_.mrwt, context_.pd, w.gather.span(), offset, body).ok()) return true;
    fail_at(record.item, WcStatus::kLocalProtection, Terminate{});
    return false;
  }
  const ReadResponse& response = responses_.at(static_cast<std::uint32_t>(record.item));
  const PlacementResult read =
      continue_read(context_.mrwt, context_.pd, context_.qpn, response.psn, response.source.handle,
                    VirtualAddress(response.source.address.value + offset), body);
  if (read.ok()) return true;
  context_.counters.add(StreamCounter::kDropAccess);
  context_.fail(refused_access(request_of(response), response.source, read.failed));
  return false;
}

// The peer's request for this response: the offending cell of a TERMINATE.
CellView StreamSender::request_of(const ReadResponse& response) const {
  CellView request;
  request.header = context_.header(Op::kRdmaReadReq, Pos::kOnly);
  request.header.psn = response.psn;
  request.va_mh = response.source;
  return request;
}

// Sends the cell of a record and returns its bytes. Returns 0 when the link has no room, or when
// the stream has failed. A record that has bytes was sent before.
std::size_t StreamSender::emit(const Record& record) {
  const std::size_t total = send_cell(*context_.link, head_of(record), [&](const CellRoom& room) {
    return fill(record, room.payload);
  });
  if (total == 0) return 0;
  context_.counters.add(StreamCounter::kTxCells);
  context_.counters.add(StreamCounter::kTxBytes, total);
  return total;
}

}  // namespace splitnic::fabric
