#include "fabric_emul/transport/responder.h"

#include "base/check.h"
#include "fabric_emul/transport/service.h"

namespace splitnic::fabric {

Responder::Responder(QpContext& context, const ResponderLimits& limits)
    : context_(context), limits_(limits), rq_(limits.depth), ack_schedule_(limits.ack_delay) {}

std::size_t Responder::table_bytes(Service service, const ResponderLimits& limits) {
  return ReceiveQueue::bytes_of(limits.depth) +
         (has_own_sequence(service) ? ReorderBuffer::table_bytes(kWindowCells) : 0);
}

void Responder::start() {
  expected_psn_ = context_.attr.receive_psn;
  expected_lcn_ = context_.attr.receive_lcn;
  expected_csn_ = 0;
  last_psn_ = expected_psn_ - 1U;
  last_csn_ = 0;
  msn_ = 0;
  open_ = Open{};
  nak_.reset();
  is_nak_sent_ = is_packet_refused_ = is_skipping_ = false;
  responses_ = ResponseQueue(context_.attr.max_dest_rd_atomic);
  early_.reset();  // the cells of another connection may be longer
}

void Responder::on_cell(const CellView& cell, base::Bytes raw, base::Time now) {
  context_.counters.add(TransportCounter::kRxCells);
  context_.counters.add(TransportCounter::kRxBytes, raw.size());
  switch (context_.service) {
    case Service::kRc:
      return on_rc(cell, raw, now);
    case Service::kUc:
      return on_uc(cell);
    case Service::kUd:
      return on_ud(cell);
    default:
      context_.counters.add(TransportCounter::kCellDropState);
  }
}

// A malformed cell is fatal on an acknowledged service if it is the next cell, and dropped
// otherwise.
void Responder::on_malformed(const MacHeader& header) {
  const bool is_next = has_own_sequence(context_.service) && header.lcn == expected_lcn_;
  if (!is_next || is_refusing()) return context_.counters.add(TransportCounter::kCellDropFormat);
  nak_ = Nak{AckCode::kInvalidRequest, header.psn, header.csn, kSubFormat};
}

// Returns the distance from the next cell in order to this one; less than 0: it was taken before.
// LCNs show that within half of their range, and PSNs beyond it.
std::int32_t Responder::distance_of(const MacHeader& h) const {
  const std::int32_t ahead = h.lcn - expected_lcn_;
  if (before(h.psn, expected_psn_)) {
    // While a response is outstanding any number of cells may follow its request.
    const bool is_repeated = wants_response(h.op) && (h.flags & kFlagRetransmission) != 0;
    return is_repeated ? -1 : ahead;
  }
  // The packet that was refused may have more cells than half of the range.
  const bool is_behind = is_packet_refused_ && (ahead != 0 || h.psn != expected_psn_);
  return is_behind ? 1 : ahead;
}

void Responder::on_rc(const CellView& cell, base::Bytes raw, base::Time now) {
  if (is_refusing()) return context_.counters.add(TransportCounter::kCellDropState);
  const std::int32_t ahead = distance_of(cell.header);
  if (ahead < 0) {  // seen before: acknowledged once more, not placed
    context_.counters.add(TransportCounter::kRxDuplicate);
    ack_schedule_.make_due();
    if (wants_response(cell.header.op)) retransmit_response(cell);
    return;
  }
  if ((cell.header.flags & kFlagAckRequest) != 0) ack_schedule_.make_due();
  if (ahead > 0) return keep_early(cell, raw, static_cast<std::size_t>(ahead));
  if (!take_rc(cell, now)) return;
  // The early cells that waited for this one.
  while (early_ != nullptr && early_->has(0)) {
    CellView next;
    const bool parsed = parse_checked_cell(early_->expected(), next) == CellError::kNone;
    CHECK(parsed);  // it was valid when it was stored
    if (!take_rc(next, now)) return;
  }
}

void Responder::keep_early(const CellView& cell, base::Bytes raw, std::size_t distance) {
  context_.counters.add(TransportCounter::kRxOutOfOrder);
  if (!context_.attr.selective_repeat || is_packet_refused_) {
    // One NAK per gap. Where a whole packet must be retransmitted, one per ACK request.
    const bool wants_one = (cell.header.flags & kFlagAckRequest) != 0 && is_packet_refused_;
    if (!is_nak_sent_ || wants_one) refuse_sequence();
    return;
  }
  if (early_ == nullptr) {
    early_ = std::make_unique<ReorderBuffer>(kWindowCells, context_.attr.mcp + kCellOverheadMax + 8,
                                             limits_.reorder_bytes_max, context_.memory);
  }
  switch (early_->put(distance, raw)) {
    case ReorderBuffer::Put::kStored:
      context_.counters.add(TransportCounter::kRxCopied);
      ack_schedule_.on_kept();
      break;
    case ReorderBuffer::Put::kDuplicate:
      context_.counters.add(TransportCounter::kRxDuplicate);
      break;
    case ReorderBuffer::Put::kFull:
      context_.counters.add(TransportCounter::kCellDropReorderFull);
      break;
    case ReorderBuffer::Put::kNoMemory:
      context_.counters.add(TransportCounter::kCellDropMemory);
      break;
    case ReorderBuffer::Put::kOutsideWindow:
      context_.counters.add(TransportCounter::kCellDropWindow);
      break;
  }
  ack_schedule_.make_due();  // the sender learns of the gap at once
}

// Takes the next cell in order. Returns false when it was refused; it stays the expected one.
bool Responder::take_rc(const CellView& cell, base::Time now) {
  if (execute(cell) != Step::kTaken) return false;
  is_nak_sent_ = is_packet_refused_ = false;
  last_psn_ = cell.header.psn;
  last_csn_ = cell.header.csn;
  ++expected_lcn_;
  if (early_ != nullptr) early_->advance();
  ack_schedule_.on_taken(1, context_.attr.ack_interval, now);
  if (context_.attr.ack_interval <= 1) {  // every cell has its own ACK [S000-17]
    send_reply(nullptr);
  }
  return true;
}

// UC: a hole ends the packet; its receive work request stays for the next [S004-03].
void Responder::on_uc(const CellView& cell) {
  const bool begins = cell.header.csn == 0;
  const std::int32_t gap = cell.header.psn - expected_psn_;
  if (gap < 0 || (gap == 0 && !is_skipping_ && cell.header.csn < expected_csn_)) {
    return context_.counters.add(TransportCounter::kRxDuplicate);
  }
  if (begins) {
    if (open_.is_active || gap > 0) {
      context_.counters.add(
          TransportCounter::kDropUcLost,
          static_cast<std::uint64_t>(gap) + (open_.is_active && gap == 0 ? 1 : 0));
    }
    open_ = Open{};
    expected_psn_ = cell.header.psn;
    expected_csn_ = 0;
    is_skipping_ = false;
  } else if (is_skipping_ || gap != 0 || cell.header.csn != expected_csn_) {
    context_.counters.add(TransportCounter::kDropUcSequence);
    is_skipping_ = true;
    return;
  }
  if (execute(cell) == Step::kTaken) return;
  open_ = Open{};
  is_skipping_ = true;
}

// Each cell is a packet of one cell, whatever came before it.
void Responder::begin_single(const CellView& cell) {
  open_ = Open{};
  expected_psn_ = cell.header.psn;
  expected_csn_ = 0;
}

void Responder::on_ud(const CellView& cell) {
  if (cell.header.op == Op::kRdmaWrite && context_.has_datagram_rdma) {
    return take_datagram_write(cell);
  }
  if (cell.header.op != Op::kSend) {  // RDMA write is an option
    return context_.counters.add(TransportCounter::kCellDropFormat);
  }
  if (rq_.empty()) return context_.counters.add(TransportCounter::kDropUdNoReceive);
  if (cell.header.payload_bytes > rq_.front().scatter.bytes) {
    // The queue pair continues [T-18].
    return context_.counters.add(TransportCounter::kDropUdLength);
  }
  take_datagram(cell);
}

// The queue pair continues, whatever it refuses [S000-53].
void Responder::take_datagram_write(const CellView& cell) {
  begin_single(cell);
  if (!context_.accepts_rdma || (context_.attr.rights & kRemoteWrite) == 0) {
    return context_.counters.add(TransportCounter::kDropAccess);
  }
  if (check_length(cell) != Step::kTaken) {
    return context_.counters.add(TransportCounter::kDropUdLength);
  }
  static_cast<void>(execute(cell));  // a refusal is counted there
  open_ = Open{};
  context_.has_refused_access = false;
}

// REQUIRES a posted receive that has room.
void Responder::take_datagram(const CellView& cell) {
  open_packet(cell);
  if (place_send(cell, 0) == Step::kTaken) complete_receive(cell, WcStatus::kSuccess);
  open_ = Open{};
}

void Responder::flush() {
  rq_.flush([this](const Wc& wc) { context_.complete(context_.recv_cq, wc); });
  open_ = Open{};
  forget_responses();
  nak_.reset();
  if (early_ != nullptr) early_->clear();
  ack_schedule_.clear();
}

}  // namespace splitnic::fabric
