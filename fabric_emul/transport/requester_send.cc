// Cells, in the order of transmit(): due read requests, lost cells, fresh cells.
#include <algorithm>

#include "fabric_emul/mem/placement.h"
#include "fabric_emul/transport/requester.h"
#include "fabric_emul/transport/send_cell.h"
#include "fabric_emul/transport/service.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

unsigned Requester::transmit(Link& link, base::Time now, unsigned cells_max) {
  // By several paths cells overtake each other, which go-back-N takes for a loss.
  const bool may_overtake = context_.service == Service::kRc && context_.attr.selective_repeat;
  paths_.set_count(may_overtake ? context_.paths.count() : 1);
  unsigned sent = 0;
  if (!context_.fault) sent = send_due_requests(link, now, cells_max);
  if (rnr_.is_active(now)) return sent;
  while (sent < cells_max && !context_.fault && !context_.has_send_fault) {
    const bool has_lost = records_.lost_count() > 0;
    Link& by = choose_path(link, now);
    if (!(has_lost ? retransmit_lost(by, now) : send_fresh(by, now))) {
      if (may_try_another_path()) continue;
      break;
    }
    paths_.on_sent(1);
    ++sent;
    const unsigned in_run = send_run(by, now, std::min(cells_max - sent, paths_.left()));
    paths_.on_sent(in_run);
    sent += in_run;
  }
  return sent;
}

// Chooses the path of the next cell and returns its link. A lost cell takes another path than
// before.
Link& Requester::choose_path(Link& link, base::Time now) {
  const PathSet& health = context_.paths;
  if (paths_.has_several() && records_.lost_count() > 0 &&
      records_.oldest_lost().path == paths_.path()) {
    paths_.begin_quantum_elsewhere(paths_.path(), records_.bytes_in_flight_by_path(), health, now);
  } else if (paths_.is_quantum_used(health, now)) {
    paths_.begin_quantum(records_.bytes_in_flight_by_path(), health, now);
  }
  return context_.paths.spans() ? context_.paths.link_of(paths_.path()) : link;
}

// Requests for the missing cells of responses whose first request was sent before.
unsigned Requester::send_due_requests(Link& link, base::Time now, unsigned cells_max) {
  unsigned sent = 0;
  while (sent < cells_max) {
    ReadSink* sink = reads_.with_request_due();
    if (sink == nullptr) break;
    Link& by = choose_path(link, now);
    const Wqe& w = queue_[sink->wqe_no];
    if (emit_request(by, w, sink->missing, kFlagRetransmission) == 0) break;
    context_.counters.add(TransportCounter::kReadRetransmit);
    sink->requested_from = sink->missing;
    sink->waits_since = now;
    sink->has_request_due = false;
    ++sent;
  }
  return sent;
}

// The congestion window bounds what is in flight; it is at most half of the peer's receive buffer.
// One cell may always go.
bool Requester::window_has_room(std::uint64_t wire_bytes) const {
  return records_.bytes_in_flight() == 0 ||
         records_.bytes_in_flight() + wire_bytes <= congestion_.window();
}

bool Requester::retransmit_lost(Link& link, base::Time now) {
  CellRecords::Record& r = records_.oldest_lost();
  if (failures_.stops(r.wqe_no)) return false;  // only what is before it still matters
  // The oldest cell always goes: the cells that fill the window may be lost too, and only the ACK
  // of the oldest shows it.
  const bool is_oldest = records_.is_oldest(r);
  if (!is_oldest && !window_has_room(r.wire_bytes)) return false;
  // The last lost cell requests an ACK, so that the loss of its retransmission shows soon.
  const bool asks = records_.lost_count() == 1 || context_.attr.ack_interval <= 1;
  const auto flags = static_cast<std::uint8_t>(kFlagRetransmission | (asks ? kFlagAckRequest : 0));
  if (emit(link, r.wqe_no, r.csn, flags) == 0) return false;
  records_.on_retransmitted(r, now, paths_.path());
  // The timer covers the oldest cell, which has a full timeout from here.
  if (is_oldest || !timer_.is_armed()) timer_.arm(now, congestion_.rto());
  return true;
}

// Whether the next work request may send its first cell: the limit of outstanding packets
// [S000-16], receive credits, open reads, the fence, and its local memory [S002-19].
bool Requester::may_start(Wqe& w) {
  if (!w.is_started && context_.state == QpState::kSqd) return false;
  if (has_own_sequence(context_.service)) {
    if (queue_.next_no() - queue_.head_no() >= context_.attr.max_outstanding) return false;
    if (!credits_.permits(w)) return false;
    if (!w.is_started && is_responded(w.op) &&
        !reads_.permits(cells_of(w.gather.bytes, context_.attr.mcp), context_.attr.max_rd_atomic,
                        limits_.window_bytes_max / (context_.attr.mcp + kStrideOverhead))) {
      return false;
    }
    if (!w.is_started && w.is_fenced && !reads_.empty()) return false;
  }
  if (w.op == WrOp::kRegisterSend && !w.is_registered && !make_region(w)) return false;
  const AccessKind kind = is_responded(w.op) ? AccessKind::kLocalWrite : AccessKind::kLocalRead;
  if (is_accessible(context_, w.gather, kind)) return true;
  // Completions keep their order: the failure waits until those before it are complete.
  if (queue_.next_no() == queue_.head_no()) failures_.fail_local_access(queue_.next_no());
  return false;
}

// An ACK is requested where sending has to stop, at each quarter of the window, and on every cell
// with K = 1. docs/protocol/ack.md
bool Requester::wants_ack(const Wqe& w, std::uint32_t csn) const {
  if (!has_own_sequence(context_.service)) return false;
  if (context_.attr.ack_interval <= 1) return true;
  if (csn + 1 == w.cells) {
    const std::uint64_t after = queue_.next_no() + 1;
    if (after == queue_.tail_no() || after - queue_.head_no() >= context_.attr.max_outstanding ||
        credits_.is_last(w)) {
      return true;
    }
  }
  const std::uint64_t wire = context_.attr.mcp + std::uint64_t{kStrideOverhead};
  // With the last cell of a quarter: one more would exceed it. A product, as a division is slow.
  const std::uint64_t cells = cells_since_ack_request_ + std::uint64_t{2};
  const bool ends_quarter = 4 * wire * cells > congestion_.window();
  return ends_quarter || !window_has_room(2 * wire) || records_.is_nearly_full();
}

bool Requester::send_fresh(Link& link, base::Time now) {
  if (!queue_.has_unsent() || failures_.stops(queue_.next_no())) return false;
  const std::uint64_t no = queue_.next_no();
  Wqe& w = queue_.next();
  if (is_local(w.op)) return run_local(now);
  const bool acknowledged = has_own_sequence(context_.service);
  if (acknowledged &&
      (records_.full() || !window_has_room(std::uint64_t{context_.attr.mcp} + kStrideOverhead))) {
    return false;
  }
  if (next_csn_ == 0 && !may_start(w)) return false;
  if (!w.is_started) {
    w.psn = next_psn_;
    w.first_lcn = records_.next();
  }
  const bool asks = wants_ack(w, next_csn_);
  const auto flags = static_cast<std::uint8_t>((asks ? kFlagAckRequest : 0) |
                                               (records_.repeats_next() ? kFlagRetransmission : 0));
  const std::size_t bytes = emit(link, no, next_csn_, flags);
  if (bytes == 0) return false;
  if (!w.is_started) {
    ++next_psn_;
    if (is_responded(w.op)) open_read(w, now);
  }
  w.is_started = true;
  if (next_csn_ == 0) credits_.claim(w);
  if (acknowledged) {
    cells_since_ack_request_ = asks ? 0 : cells_since_ack_request_ + 1;
    records_.push(no, next_csn_, counted_bytes(bytes), now, paths_.path());
    if (!timer_.is_armed()) timer_.arm(now, congestion_.rto());
  }
  if (++next_csn_ < w.cells) return true;
  next_csn_ = 0;
  queue_.advance();
  if (!acknowledged) complete_front(WcStatus::kSuccess);
  return true;
}

const Requester::Wqe* Requester::next_startable(base::Time now) {
  while (queue_.has_unsent() && is_local(queue_.next().op)) {
    if (!run_local(now)) return nullptr;
  }
  if (!queue_.has_unsent() || rnr_.is_active(now) || context_.fault || context_.has_send_fault) {
    return nullptr;
  }
  Wqe& w = queue_.next();
  return may_start(w) ? &w : nullptr;
}

std::size_t Requester::emit_front(Link& link, const EePlace& place) {
  Wqe& w = queue_.front();
  w.psn = place.psn;
  w.destination_lid = link.remote_lid();
  head_.ee = place.context;
  return emit(link, queue_.head_no(), place.csn, place.flags);
}

void Requester::start_front() {
  Wqe& w = queue_.front();
  w.is_started = true;
  credits_.claim(w);
  queue_.advance();
}

bool Requester::return_front(base::Duration wait, base::Time now) {
  if (!rnr_.begin(wait, now, context_.attr.rnr_retry)) return false;
  Wqe& w = queue_.front();
  w.is_started = false;
  credits_.release(w);
  queue_.continue_at(queue_.head_no());
  return true;
}

void Requester::finish_front(WcStatus status) {
  rnr_.on_progress();
  complete_front(status);
}

// The next work request sends nothing. Returns false when it waits or has failed.
bool Requester::run_local(base::Time now) {
  Wqe& w = queue_.next();
  if (!w.is_started) {  // a go-back passes work that is done
    // A delay that has begun continues in SQD.
    if (context_.state == QpState::kSqd && !local_.is_delaying()) return false;
    if (w.is_fenced && !reads_.empty()) return false;
    if (w.op == WrOp::kRegister) {
      if (!make_region(w)) return false;
    } else {
      const LocalOperations::Step step = local_.run(w.op, now);
      if (step == LocalOperations::Step::kFailed) fail_local_work(queue_.next_no());
      if (step != LocalOperations::Step::kDone) return false;
    }
    w.is_started = true;
    w.first_lcn = records_.next();
  }
  queue_.advance();
  if (has_own_sequence(context_.service)) {
    complete_acknowledged();
  } else {
    complete_front(WcStatus::kSuccess);
  }
  return true;
}

// Makes the region of the next work request. Returns false when the table refuses it.
bool Requester::make_region(Wqe& w) {
  const auto failed = local_.make_region();
  w.is_registered = !failed;
  if (failed) fail_registration(queue_.next_no(), *failed);
  return !failed;
}

void Requester::open_read(const Wqe& w, base::Time now) {
  ReadSink sink;
  sink.wqe_no = queue_.next_no();
  sink.op = w.op;
  sink.psn = w.psn;
  sink.request_lcn = w.first_lcn;
  sink.bytes = w.gather.bytes;
  sink.cells = static_cast<std::uint32_t>(cells_of(w.gather.bytes, context_.attr.mcp));
  sink.waits_since = now;
  sink.is_here.assign(sink.cells, false);
  reads_.open(std::move(sink));
}

void Requester::fill_header(MacHeader& h, const Wqe& w, std::uint32_t csn, const Link& link,
                            std::uint8_t flags) const {
  context_.fill_header(h, wire_op(w.op), position_of(csn, w.cells), link);
  h.dlid = context_.paths.spans() ? context_.paths.lid_of(paths_.path())
                                  : path_of(w.destination_lid, paths_.path());
  h.dqpn = w.destination_qpn;
  h.psn = w.psn;
  h.csn = static_cast<std::uint16_t>(csn);
  h.flags = flags;
  if (w.is_solicited && is_last(h.pos)) h.flags |= kFlagSolicited;
  h.lcn = has_own_sequence(context_.service) ? w.first_lcn + csn : Lcn();
  h.payload_bytes = is_responded(w.op) ? std::uint16_t{0} : payload_of(w.gather.bytes, csn, w.mcp);
  const bool has_crc = context_.sets_packet_crc && is_connected(context_.service);
  if (has_crc && is_last(h.pos)) h.flags |= kFlagPacketCrc;
}

// Sends cell `csn` of work request `no` and returns its bytes. Returns 0 when the link has no room,
// or when the local memory was deregistered meanwhile; then a fault is set.
std::size_t Requester::emit(Link& link, std::uint64_t no, std::uint32_t csn, std::uint8_t flags) {
  Wqe& w = queue_[no];
  const bool is_retransmitted = (flags & kFlagRetransmission) != 0;
  if (is_responded(w.op)) {
    if (is_retransmitted) context_.counters.add(TransportCounter::kTxRetransmit);
    return emit_request(link, w, 0, flags);
  }
  CellHead& head = head_;
  fill_header(head.header, w, csn, link, flags);
  const bool last = is_last(head.header.pos);
  head.va_mh.reset();
  head.idata.reset();
  head.dereg.reset();
  if (w.op == WrOp::kRdmaWrite && csn == 0) {
    head.va_mh =
        VaMh{w.remote_address, w.remote_handle, static_cast<std::uint32_t>(w.gather.bytes)};
  }
  if (last) head.idata = w.idata;
  if (last && w.op == WrOp::kSendDereg) head.dereg = w.dereg.value;
  const std::uint64_t offset = std::uint64_t{csn} * w.mcp;
  const std::size_t total = send_cell(link, head, [&](CellRoom& room) {
    if (!gather(context_.mrwt, context_.pd, w.gather.span(), offset, room.payload).ok()) {
      failures_.fail_local_access(no);
      return false;
    }
    if (w.op == WrOp::kRegisterSend) announce_region(w.region, w.region_at, offset, room.payload);
    if (!context_.sets_packet_crc || !is_connected(context_.service)) return true;
    if (csn == w.crc_cells) {  // a retransmitted cell is covered already
      w.crc.add(packet_crc_ext(room.head, head), room.payload);
      ++w.crc_cells;
    }
    if (last) room.packet_crc = w.crc.value();
    return true;
  });
  if (total == 0) return 0;
  context_.count_sent(total);
  if (is_retransmitted) context_.counters.add(TransportCounter::kTxRetransmit);
  return total;
}

// Sends the request for all cells of the response from `from` on and returns its bytes. Returns 0
// when the link has no room now.
std::size_t Requester::emit_request(Link& link, const Wqe& w, std::uint32_t from,
                                    std::uint8_t flags) {
  const std::uint64_t skipped = std::uint64_t{from} * context_.attr.mcp;
  CellHead head;
  fill_header(head.header, w, 0, link, flags);
  head.ee = head_.ee;  // RD
  head.va_mh = VaMh{VirtualAddress(w.remote_address.value + skipped), w.remote_handle,
                    static_cast<std::uint32_t>(w.gather.bytes - skipped)};
  if (w.op == WrOp::kFetchOp) head.atomic = &w.fetch_op;
  const std::size_t total = send_cell(link, head, [&](CellRoom& room) {
    if ((head.header.flags & kFlagPacketCrc) != 0) {
      room.packet_crc = base::crc32c(packet_crc_ext(room.head, head));
    }
    return true;
  });
  if (total > 0) context_.count_sent(total);
  return total;
}

}  // namespace splitnic::fabric
