// RDMA reads and FetchOps as the one who asks: one request cell, then the cells of the answer, each
// placed once; what does not come is asked for again [S000-04] [S000-05] [M-07].
// docs/wire/cell.md#rdma-read-and-fetchop-on-rc
#include <algorithm>
#include <array>
#include <cstring>

#include "base/endian.h"
#include "fabric_emul/mem/placement.h"
#include "fabric_emul/transport/requester.h"
#include "fabric_emul/transport/send_cell.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

}  // namespace

// What a post of an answered operation must be. nullptr: it is.
const char* Requester::response_refused(const SendWr& wr, std::uint64_t bytes) const {
  if (context_.service != Service::kRc) return "this service has no RDMA read and no FetchOp";
  if (context_.attr.max_rd_atomic == 0) return "the peer answers no RDMA read and no FetchOp";
  if (wr.idata) return "an RDMA read or FetchOp carries no immediate data";
  if (wr.op == WrOp::kRdmaRead) return nullptr;
  if (bytes != kWordBytes) return "a FetchOp returns 8 bytes";
  const bool fits = kMacHeaderBytes + kVaMhBytes + kAtomicBytes + 2 * kCrcBytes <=
                    context_.attr.mcp + kCellOverheadMax;
  return fits ? nullptr : "cells are too small for a FetchOp";
}

std::uint32_t Requester::response_cells(const Wqe& w) const {
  const std::uint64_t mcp = context_.attr.mcp;
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (w.gather.bytes + mcp - 1) / mcp));
}

// Within what the peer answers at a time, and what its answers may fill of our receive buffer.
bool Requester::may_ask(const Wqe& w) const {
  if (reads_.size() >= context_.attr.max_rd_atomic || reads_.full()) return false;
  std::uint64_t cells = std::min(response_cells(w), kResponseCellsMax);
  for (std::size_t i = 0; i < reads_.size(); ++i) cells += reads_[i].cells_under_way();
  return reads_.empty() ||
         cells * (context_.attr.mcp + std::uint64_t{kStrideOverhead}) <= limits_.window_bytes_max;
}

void Requester::open_sink(std::uint64_t no, base::Time now) {
  ReadSink sink;
  sink.wqe_no = no;
  sink.cells = response_cells(wqe(no));
  sink.waits_since = now;
  sink.is_here.assign(sink.cells, false);
  reads_.push(std::move(sink));
}

// The request for all cells from `from` on. 0: no room now.
std::size_t Requester::emit_request(Link& link, const Wqe& w, std::uint32_t from, bool again,
                                    bool ask_ack) {
  const std::uint64_t skipped = std::uint64_t{from} * context_.attr.mcp;
  CellHead head;
  head.header = header_of(w, 0, link);
  if (again) head.header.flags |= kFlagRetransmission;
  if (ask_ack) head.header.flags |= kFlagAckRequest;
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

// Requests that were sent before: for what is missing of their answers.
unsigned Requester::send_again(Link& link, base::Time now, unsigned cells_max) {
  unsigned sent = 0;
  for (std::size_t i = 0; i < reads_.size() && sent < cells_max; ++i) {
    ReadSink& sink = reads_[i];
    if (!sink.is_to_be_asked) continue;
    if (emit_request(link, wqe(sink.wqe_no), sink.missing, true, false) == 0) break;
    context_.counters.add(TransportCounter::kReadAgain);
    sink.asked_from = sink.missing;
    sink.waits_since = now;
    sink.is_to_be_asked = false;
    ++sent;
  }
  return sent;
}

bool Requester::asks_again() const {
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    if (reads_[i].is_to_be_asked) return true;
  }
  return false;
}

ReadSink* Requester::sink_of(Psn psn) {
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    if (wqe(reads_[i].wqe_no).psn == psn) return &reads_[i];
  }
  return nullptr;
}

// Operation, position and length are those of a cell of this answer [M-07].
bool Requester::is_part_of_response(const CellView& cell, const ReadSink& sink) {
  const Wqe& w = wqe(sink.wqe_no);
  const MacHeader& h = cell.header;
  const Op op = w.op == WrOp::kRdmaRead ? Op::kRdmaReadResp : Op::kFetchOpResp;
  if (h.op != op || h.csn >= sink.cells || h.pos != position_of(h.csn, sink.cells)) return false;
  const std::uint64_t offset = std::uint64_t{h.csn} * context_.attr.mcp;
  return cell.payload.size() == std::min<std::uint64_t>(context_.attr.mcp, w.gather.bytes - offset);
}

void Requester::on_response(const CellView& cell, base::Time now) {
  context_.counters.add(TransportCounter::kRxCells);
  ReadSink* sink = sink_of(cell.header.psn);
  if (sink == nullptr || context_.fault) {
    return context_.counters.add(TransportCounter::kReadDropStale);
  }
  if (!is_part_of_response(cell, *sink)) return end_at(sink->wqe_no, WcStatus::kBadResponse);
  const Wqe& w = wqe(sink->wqe_no);
  // The request arrived, and everything before it [3.5].
  if (!before(w.first_lcn, una_lcn_)) advance(w.first_lcn, now);
  const std::uint32_t csn = cell.header.csn;
  if (sink->has(csn)) return context_.counters.add(TransportCounter::kRxDuplicate);
  // The packet CRC goes over the cells in their order.
  if (context_.checks_packet_crc && csn != sink->missing) {
    context_.counters.add(TransportCounter::kRxOutOfOrder);
    sink->is_to_be_asked |= sink->ends_response(csn);
    return;
  }
  take_response(*sink, cell, now);
  complete_acknowledged();
}

void Requester::take_response(ReadSink& sink, const CellView& cell, base::Time now) {
  const Wqe& w = wqe(sink.wqe_no);
  const std::uint32_t csn = cell.header.csn;
  base::Bytes from = cell.payload;
  std::array<std::byte, kWordBytes> word;
  if (w.op == WrOp::kFetchOp) {
    const auto value = base::load_be<std::uint64_t>(cell.payload.data());
    std::memcpy(word.data(), &value, word.size());
    from = word;
  }
  if (!scatter(context_.mrwt, context_.pd, w.gather.span(), std::uint64_t{csn} * context_.attr.mcp,
               from)
           .ok()) {
    return fail_local(sink.wqe_no);
  }
  sink.take(csn);
  sink.waits_since = progress_at_ = now;
  tries_ = 0;
  congestion_.on_progress();
  if (context_.checks_packet_crc) {
    sink.crc.add(cell);
    if (sink.is_whole() && cell.packet_crc && *cell.packet_crc != sink.crc.value()) {
      return refuse_response(sink);
    }
  }
  if (!sink.is_whole() && sink.ends_response(csn)) sink.is_to_be_asked = true;
}

// All of it once more; a peer that never gets it right is not asked for ever.
void Requester::refuse_response(ReadSink& sink) {
  context_.counters.add(TransportCounter::kPacketCrc);
  if (++sink.crc_failures > context_.attr.retry_count) {
    return end_at(sink.wqe_no, WcStatus::kBadResponse);
  }
  sink.forget_all();
  sink.is_to_be_asked = true;
}

// When the oldest answer that is owed to us is late. A request that was not acknowledged yet has
// its own time-out.
base::Time Requester::responses_deadline() const {
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    const ReadSink& sink = reads_[i];
    if (sink.is_whole()) continue;
    const Wqe& w = sq_[static_cast<std::size_t>(sink.wqe_no - head_no_)];
    if (!before(w.first_lcn, una_lcn_)) return base::kNever;
    return sink.waits_since + congestion_.rto();
  }
  return base::kNever;
}

// False: that was the last try.
bool Requester::ask_late(base::Time now) {
  if (now < responses_deadline()) return true;
  context_.counters.add(TransportCounter::kTimeouts);
  if (tries_ >= context_.attr.retry_count && now - progress_at_ >= limits_.stall_min) {
    fail(WcStatus::kRetryExceeded);
    return false;
  }
  ++tries_;
  timeout_at_ = now;
  congestion_.on_timeout();
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    ReadSink& sink = reads_[i];
    if (sink.is_whole() || !before(wqe(sink.wqe_no).first_lcn, una_lcn_)) continue;
    sink.is_to_be_asked = true;
    sink.waits_since = now;
  }
  return true;
}

// The work request `no` has failed; those before it still complete as they do.
void Requester::end_at(std::uint64_t no, WcStatus status) {
  if (!ending_ || no < ending_->no) ending_ = Ending{no, status};
  complete_acknowledged();
}

}  // namespace splitnic::fabric
