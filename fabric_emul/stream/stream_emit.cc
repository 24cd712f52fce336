// Cells: what went back first, then fresh ones; each is made straight into the link's batch.
#include <algorithm>

#include "fabric_emul/mem/placement.h"
#include "fabric_emul/stream/stream_sender.h"
#include "fabric_emul/stream/stream_terminate.h"
#include "fabric_emul/transport/send_cell.h"

namespace splitnic::fabric {
namespace {

constexpr Op wire_op(WrOp op) {
  switch (op) {
    case WrOp::kSendDereg:
      return Op::kSendDereg;
    case WrOp::kRdmaWrite:
      return Op::kRdmaWrite;
    case WrOp::kRdmaRead:
      return Op::kRdmaReadReq;
    default:
      break;
  }
  return Op::kSend;
}

std::uint16_t payload_of(std::uint64_t packet_bytes, std::uint32_t csn, std::uint16_t mcp) {
  return static_cast<std::uint16_t>(
      std::min<std::uint64_t>(mcp, packet_bytes - std::uint64_t{csn} * mcp));
}

}  // namespace

unsigned StreamSender::transmit(base::Time now, unsigned cells_max) {
  unsigned sent = 0;
  while (sent < cells_max && !context_.has_failed) {
    if (!(in_flight_ < records_.size() ? send_again(now) : send_fresh(now))) break;
    ++sent;
  }
  return sent;
}

// One cell may always go; a fresh one only where the peer takes it.
bool StreamSender::window_has_room(std::uint32_t bytes, bool is_fresh) const {
  if (is_fresh && static_cast<std::uint32_t>(next_number_ - una_) + bytes > window_) return false;
  return in_flight_ == 0 || in_flight_bytes_ + bytes <= congestion_.window();
}

bool StreamSender::send_again(base::Time now) {
  Record& r = records_[in_flight_];
  if (!window_has_room(r.bytes, false)) return false;
  if (emit(r) == 0) return false;
  context_.counters.add(StreamCounter::kTxAgain);
  r.sent_at = now;
  r.again = true;
  ++in_flight_;
  in_flight_bytes_ += r.bytes;
  if (rto_at_ == base::kNever) rto_at_ = now + congestion_.rto();
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
    if (!r.is_response && wqe(r.item).op == WrOp::kRdmaRead) expect_response(r);
  } else {
    ++open_->csn;
    const std::uint32_t cells =
        r.is_response ? responses_.at(static_cast<std::uint32_t>(r.item)).cells : wqe(r.item).cells;
    open_->is_last = open_->csn + 1 == cells;
  }
  records_.push(r);
  ++in_flight_;
  in_flight_bytes_ += r.bytes;
  if (rto_at_ == base::kNever) {
    if (tries_ == 0) progress_at_ = now;
    rto_at_ = now + congestion_.rto();
  }
  return true;
}

// The next packet: an answer and a work request in turn. False: there is none that may begin.
bool StreamSender::begin_packet() {
  const ReadResponse* response = responses_.oldest_open();
  const bool has_request = send_no_ != tail_no_ && may_start(wqe(send_no_));
  if (context_.has_failed || (response == nullptr && !has_request)) return false;
  open_ = Record{};
  open_->is_response = response != nullptr && (responses_turn_ || !has_request);
  responses_turn_ = !open_->is_response;
  if (open_->is_response) {
    open_->item = response->msn;
    open_->is_last = response->cells == 1;
    return true;
  }
  Wqe& w = wqe(send_no_);
  open_->item = send_no_++;
  open_->is_last = w.cells == 1;
  w.psn = next_psn_;
  ++next_psn_;
  w.is_started = true;
  if (w.consumes_receive()) ++consumers_outstanding_;
  if (w.op == WrOp::kRdmaRead) w.msn = next_msn_++;
  return true;
}

// Not before the request was sent: nobody can have answered it sooner.
void StreamSender::expect_response(const Record& request) {
  const Wqe& w = wqe(request.item);
  const Sge sink = w.gather.count > 0 ? w.gather.pieces[0] : Sge{};
  reads_.push({request.item, w.psn, sink.lkey, sink.address, sink.length, request.end()});
}

// Local checks [S002-19], open reads, receive credits.
bool StreamSender::may_start(Wqe& w) {
  // With none outstanding one may go: the ACK brings the credits up to date.
  if (w.consumes_receive() && consumers_outstanding_ > 0 &&
      consumers_outstanding_ >= receive_credits_) {
    return false;
  }
  if (w.op == WrOp::kRdmaRead && reads_.size() >= limits_.max_rd_atomic) return false;
  if (w.is_fenced && !reads_.empty()) return false;
  if (local_access_ok(w)) return true;
  // Completions keep their order: the earlier ones first.
  if (send_no_ == head_no_) fail_at(send_no_, WcStatus::kLocalProtection, Terminate{});
  return false;
}

// The answer to a read comes as tagged cells, so its piece must let the peer write.
bool StreamSender::local_access_ok(const Wqe& w) const {
  const AccessKind kind =
      w.op == WrOp::kRdmaRead ? AccessKind::kRemoteWrite : AccessKind::kLocalRead;
  return std::ranges::all_of(w.gather.span(), [&](const Sge& piece) {
    return piece.length == 0 ||
           context_.mrwt
               .access(piece.lkey, piece.address, piece.length, kind, context_.pd, context_.qpn)
               .ok();
  });
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
          : request_head(wqe(record.item), record.csn);
  head.header.csn = static_cast<std::uint16_t>(record.csn);
  head.stream_number = record.number.value;
  if (record.bytes != 0) head.header.flags |= kFlagRetransmission;
  if (record.is_last) head.header.flags |= kFlagAckRequest;
  return head;
}

// Checked per cell: memory may end in mid-packet, and then the stream ends. So it does when
// a window with one touch is bound anew.
bool StreamSender::fill(const Record& record, base::MutableBytes body) {
  const std::uint64_t offset = std::uint64_t{record.csn} * context_.mcp;
  if (!record.is_response) {
    const Wqe& w = wqe(record.item);
    if (w.op == WrOp::kRdmaRead) return true;
    if (gather(context_.mrwt, context_.pd, w.gather.span(), offset, body).ok()) return true;
    fail_at(record.item, WcStatus::kLocalProtection, Terminate{});
    return false;
  }
  const ReadResponse& response = responses_.at(static_cast<std::uint32_t>(record.item));
  const MemoryHandle handle = response.source.handle;
  PlacementResult read{false, AccessCheck::kA};
  if (context_.mrwt.may_go_on(handle, context_.qpn, response.psn)) {
    read = read_remote(context_.mrwt, context_.pd, context_.qpn, handle,
                       VirtualAddress(response.source.address.value + offset), body);
  }
  if (read.ok()) return true;
  context_.counters.add(StreamCounter::kDropAccess);
  CellView request;  // what the offending request said
  request.header = context_.header(Op::kRdmaReadReq, Pos::kOnly);
  request.header.psn = response.psn;
  context_.fail(refused_access(request, response.source, read.failed));
  return false;
}

// 0: the link has no room, or the stream has failed. A record with bytes was sent before.
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
