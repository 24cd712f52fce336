// Replies and timeouts: cumulative acknowledgement, bitmap, NAK codes, responses, and what is sent
// once more.
#include <algorithm>

#include "base/check.h"
#include "fabric_emul/transport/requester.h"
#include "fabric_emul/transport/response_payload.h"

namespace splitnic::fabric {
namespace {

// Of two paths one may be this much longer than the other, in addition to what round trips show.
constexpr base::Duration kPathsApart = std::chrono::milliseconds(10);

// Cells that are retransmitted at a timeout: one datagram alone would not outlast a burst of
// losses.
constexpr std::size_t kCellsPerTimeout = 4;

}  // namespace

// Takes every cell up to `cumulative` off the records. Returns false when it is stale or names
// cells that were never sent [T-24].
bool Requester::advance(Lcn cumulative, base::Time now) {
  const auto count = records_.newly_acknowledged(cumulative);
  if (!count) {
    context_.counters.add(TransportCounter::kAckStale);
    return false;
  }
  if (*count == 0) return true;
  const Lcn sent_end = records_.next();
  const CellRecords::Acked acked = records_.acknowledge(*count, now, timer_);
  if (acked.rtt) congestion_.on_rtt_sample(*acked.rtt);
  congestion_.on_ack(acked.bytes, acked.cells, now);
  context_.paths.on_arrived(acked.paths);
  const std::int32_t skipped = records_.oldest() - sent_end;
  if (skipped > 0) skip_arrived(static_cast<std::uint32_t>(skipped));
  congestion_.on_progress();
  timer_.on_acknowledged(now, !records_.empty(), congestion_.rto());
  if (!records_.empty()) on_losses(records_.detect_all_losses(overtaken_after()), now);
  return true;
}

base::Duration Requester::overtaken_after() const {
  const base::Duration known = congestion_.slow_round_trip();
  return known == base::Duration{0} ? known : known + kPathsApart;
}

void Requester::on_losses(const CellRecords::Losses& losses, base::Time now) {
  congestion_.on_loss(losses.cells);
  on_silent(losses.silent, now);
}

// The next `cells` cells, which a go-back returned, have arrived after all: sending continues
// behind them.
void Requester::skip_arrived(std::uint32_t cells) {
  while (cells > 0 && queue_.has_unsent() && queue_.next().is_started) {
    const Wqe& w = queue_.next();
    if (next_csn_ == 0) credits_.claim(w);
    const std::uint32_t skipped = std::min(cells, w.cells - next_csn_);
    cells -= skipped;
    next_csn_ += skipped;
    if (next_csn_ < w.cells) return;
    next_csn_ = 0;
    queue_.advance();
  }
}

void Requester::on_ack(const AckExt& ack, base::Time now) {
  context_.counters.add(TransportCounter::kRxAcks);
  if (!ack.selective || !advance(ack.cumulative, now)) return;
  credits_.update(ack.receive_credits);
  complete_acknowledged();
  if (ack.bitmap_words == 0) return;
  const CellRecords::Acked acked = records_.acknowledge_bitmap(ack, now, timer_);
  if (acked.rtt) congestion_.on_rtt_sample(*acked.rtt);
  context_.paths.on_arrived(acked.paths);
  on_losses(records_.detect_losses(acked.bitmap_end, overtaken_after()), now);
  if (acked.cells > 0) congestion_.on_ack(acked.bytes, acked.cells, now);
}

// A NAK for a refused packet CRC names the first cell of a packet whose cells were acknowledged
// before: the whole packet is sent once more. docs/protocol/cell.md#crcs
bool Requester::go_back_to_packet(const CellView& cell, const AckExt& ack) {
  if (ack.code != AckCode::kSequence || cell.header.csn != 0) return false;
  if (una_no_ == queue_.tail_no()) return false;
  const Wqe& w = queue_[una_no_];
  if (!w.is_started || w.psn != cell.header.psn) return false;
  if (ack.cumulative + 1U != w.first_lcn) return false;
  const std::uint32_t acknowledged = acknowledged_cells(w);
  if (acknowledged == 0) return false;  // as any NAK of the oldest cell
  // From so far back only a refused CRC, which the peer finds with the last cell, is no late copy.
  if (acknowledged > Lcn::kMask / 2 && w.crc_cells < w.cells) return false;
  records_.go_back_to(w.first_lcn);
  restart_sending();
  return true;
}

void Requester::on_rnr(const AckExt& ack, base::Time now) {
  if (rnr_.is_active(now)) return;  // a duplicate: the wait has begun
  context_.counters.add(TransportCounter::kRnrSeen);
  const auto wait = std::chrono::microseconds(10) * std::max<int>(1, ack.detail);
  if (!rnr_.begin(wait, now, context_.attr.rnr_retry)) return fail(WcStatus::kRnrRetryExceeded);
  credits_.update(ack.receive_credits);
  timer_.on_progress(now);  // the peer is alive
  if (context_.attr.selective_repeat) {
    records_.lose_reported();
    records_.lose_oldest();
    timer_.postpone(rnr_.until() + congestion_.rto());
  } else {
    restart_sending();
  }
}

// The work request that a NAK of packet `psn` refuses: the oldest packet, or a read that waits for
// its response, which only a NAK that ends the queue pair may refuse. A NAK of any other is stale
// [T-24]. Local work has no packet: its PSN is 0.
std::optional<std::uint64_t> Requester::refused_by(Psn psn, AckCode code) {
  if (una_no_ != queue_.tail_no() && records_.has_unacknowledged()) {
    const Wqe& w = queue_[una_no_];
    if (w.is_started && !is_local(w.op) && w.psn == psn) return una_no_;
  }
  const bool repeats = code == AckCode::kRnr || code == AckCode::kSequence;
  const ReadSink* sink = repeats ? nullptr : reads_.find(psn);
  if (sink == nullptr || sink->is_whole()) return std::nullopt;
  return sink->wqe_no;
}

void Requester::on_nak(const CellView& cell, const AckExt& ack, base::Time now) {
  context_.counters.add(TransportCounter::kRxNaks);
  if (!ack.selective || go_back_to_packet(cell, ack)) return;
  if (!advance(ack.cumulative, now)) return;
  complete_acknowledged();
  const std::optional<std::uint64_t> no = refused_by(cell.header.psn, ack.code);
  if (!no) return context_.counters.add(TransportCounter::kAckStale);
  switch (ack.code) {
    case AckCode::kAck:
      return;
    case AckCode::kRnr:
      return on_rnr(ack, now);
    case AckCode::kSequence:
      return restart_sending();
    case AckCode::kInvalidRequest:
    case AckCode::kInvalidRdRequest:
      return fail_at(*no, WcStatus::kRemoteInvalid);
    case AckCode::kRemoteAccess:
      return fail_at(*no, WcStatus::kRemoteAccess);
    case AckCode::kRemoteOperational:
      return fail_at(*no, WcStatus::kRemoteOperational);
  }
}

void Requester::on_response(const CellView& cell, base::Time now) {
  context_.counters.add(TransportCounter::kRxCells);
  ReadSink* sink = reads_.find(cell.header.psn);
  if (sink == nullptr || context_.fault) {
    return context_.counters.add(TransportCounter::kReadDropStale);
  }
  if (!sink->is_part(cell, context_.attr.mcp)) {
    return fail_at(sink->wqe_no, WcStatus::kBadResponse);
  }
  // The response shows that the request has arrived, and everything before it.
  // The LCN of a request that was acknowledged long ago may be that of a cell in flight by now.
  if (sink->wqe_no >= una_no_ && !records_.is_acknowledged(sink->request_lcn)) {
    advance(sink->request_lcn, now);
  }
  const std::uint32_t csn = cell.header.csn;
  if (sink->has(csn)) {
    context_.counters.add(TransportCounter::kRxDuplicate);
  } else if (context_.checks_packet_crc && csn != sink->missing) {
    // The packet CRC covers the cells in their order.
    context_.counters.add(TransportCounter::kRxOutOfOrder);
    sink->has_request_due |= sink->ends_response(csn);
  } else {
    place_response(*sink, cell, now);
  }
  complete_acknowledged();
}

void Requester::place_response(ReadSink& sink, const CellView& cell, base::Time now) {
  const Wqe& w = queue_[sink.wqe_no];
  const std::uint32_t csn = cell.header.csn;
  const std::uint64_t offset = std::uint64_t{csn} * context_.attr.mcp;
  if (!place_response_payload(context_, w, offset, cell.payload)) {
    return failures_.fail_local_access(sink.wqe_no);
  }
  sink.take(csn);
  sink.waits_since = now;
  timer_.on_progress(now);
  congestion_.on_progress();
  if (context_.checks_packet_crc) {
    sink.crc.add(cell);
    if (sink.is_whole() && cell.packet_crc && *cell.packet_crc != sink.crc.value()) {
      return reject_response(sink);
    }
  }
  // A request that a timeout has made due may wait for room of the link: of a whole response there
  // is nothing left to request.
  sink.has_request_due = !sink.is_whole() && (sink.has_request_due || sink.ends_response(csn));
}

// The packet CRC is wrong: the whole response is requested once more, a limited number of times.
void Requester::reject_response(ReadSink& sink) {
  context_.counters.add(TransportCounter::kPacketCrc);
  if (++sink.crc_failures > context_.attr.retry_count) {
    return fail_at(sink.wqe_no, WcStatus::kBadResponse);
  }
  sink.forget_all();
  sink.has_request_due = true;
}

// Returns how many cells of `w` are acknowledged, the oldest packet of which not all are. A packet
// may have as many cells as there are LCNs.
std::uint32_t Requester::acknowledged_cells(const Wqe& w) const {
  return (records_.oldest().value - w.first_lcn.value) & Lcn::kMask;
}

// Go-back-N: everything from the oldest unacknowledged cell on is made once more by send_fresh().
void Requester::restart_sending() {
  records_.go_back();
  timer_.disarm();
  queue_.continue_at(una_no_);
  next_csn_ = 0;
  credits_.release_all();
  for (std::uint64_t no = queue_.head_no(); no < una_no_; ++no) credits_.claim(queue_[no]);
  if (una_no_ == queue_.tail_no() || !queue_[una_no_].is_started) return;
  const Wqe& w = queue_[una_no_];
  if (is_local(w.op)) return;  // nothing of it was sent, and run_local() passes it
  const std::uint32_t into = acknowledged_cells(w);
  CHECK(into < w.cells);
  next_csn_ = into;
  if (next_csn_ > 0) credits_.claim(w);
}

// Counts a timeout. Returns true when the tries are used up; then the oldest work request fails.
bool Requester::has_given_up(base::Time now) {
  context_.counters.add(TransportCounter::kTimeouts);
  if (timer_.is_exhausted(now, context_.attr.retry_count)) {
    fail(WcStatus::kRetryExceeded);
    return true;
  }
  timer_.on_timeout(now);
  congestion_.on_timeout();
  return false;
}

// Returns false when that was the last try.
bool Requester::on_response_timeout(base::Time now) {
  if (reads_.empty() || now < reads_.deadline(una_no_, congestion_.rto())) return true;
  if (has_given_up(now)) return false;
  reads_.on_timeout(una_no_, now);
  return true;
}

void Requester::on_cell_timeout(base::Time now) {
  if (now < timer_.deadline() || has_given_up(now)) return;
  if (context_.attr.selective_repeat) {
    on_silent(records_.lose_at_timeout(), now);
    records_.lose_some(kCellsPerTimeout - 1);
  } else {
    restart_sending();
  }
  timer_.arm(now, congestion_.rto());
}

void Requester::on_time(base::Time now) {
  local_.on_time(now);
  rnr_.on_time(now);
  if (on_response_timeout(now)) on_cell_timeout(now);
}

base::Time Requester::deadline() const {
  base::Time at = std::min(timer_.deadline(), local_.deadline());
  if (!reads_.empty()) {
    at = std::min(at, reads_.deadline(una_no_, congestion_.rto()));
  }
  if (rnr_.until() > base::Time{} && has_unsent()) return std::min(at, rnr_.until());
  return at;
}

}  // namespace splitnic::fabric
