// Replies -> completions: cumulative acknowledgement, bitmap, NAK codes.
#include <algorithm>
#include <utility>

#include "fabric_emul/transport/requester.h"

namespace splitnic::fabric {

// Takes everything up to `cumulative` off the records. False if it names what was never sent or is
// old [T-24].
bool Requester::advance(Lcn cumulative, base::Time now) {
  const std::int32_t taken = cumulative - una_lcn_ + 1;
  if (taken < 0 || taken > sent_lcn_ - una_lcn_) {
    context_.counters.add(TransportCounter::kAckStale);
    return false;
  }
  if (taken == 0) return true;
  una_lcn_ = una_lcn_ + static_cast<std::uint32_t>(taken);
  pop_acknowledged(std::min(static_cast<std::size_t>(taken), records_.size()), now);
  if (before(next_lcn_, una_lcn_)) skip_arrived();
  tries_ = 0;
  progress_at_ = now;
  congestion_.on_progress();
  if (records_.empty()) {
    rto_at_ = base::kNever;
  } else {
    arm(now);
    if (records_.front().tx_no < acked_tx_no_) detect_losses(records_.size());
  }
  return true;
}

void Requester::pop_acknowledged(std::size_t count, base::Time now) {
  std::uint64_t bytes = 0, cells = 0;  // that no bitmap spoke of before
  std::uint64_t newest_again = 0;
  bool any_original = false;
  for (std::size_t i = 0; i < count; ++i) {
    const Record& r = records_.front();
    if (r.state != CellState::kAcked) {
      bytes += r.wire_bytes;
      ++cells;
    }
    if (r.state == CellState::kInFlight) {
      in_flight_bytes_ -= r.wire_bytes;
      // After a time-out it may be the ACK that was late.
      if (i + 1 == count && tells_rtt(r)) congestion_.on_rtt_sample(now - r.sent_at);
    }
    if (r.state == CellState::kLost) --lost_count_;
    if (r.state != CellState::kAcked && r.again) newest_again = std::max(newest_again, r.tx_no);
    if (r.state != CellState::kAcked && !r.again) {
      any_original = true;
      acked_tx_no_ = std::max(acked_tx_no_, r.tx_no);
    }
    records_.pop();
  }
  // Whether a repeated cell arrived first or second is unknown; if nothing but repeated ones was
  // taken, the originals behind them are not coming.
  if (!any_original) acked_tx_no_ = std::max(acked_tx_no_, newest_again);
  lost_hint_ = lost_hint_ > count ? lost_hint_ - count : 0;
  congestion_.on_ack(bytes, cells, now);
}

// Cells that a go-back un-sent have arrived after all: sending goes on behind them.
void Requester::skip_arrived() {
  next_lcn_ = una_lcn_;
  while (send_no_ != tail_no_ && wqe(send_no_).started &&
         before(wqe(send_no_).first_lcn, una_lcn_)) {
    const Wqe& w = wqe(send_no_);
    if (send_csn_ == 0 && w.consumes_receive()) ++consumers_outstanding_;
    send_csn_ = static_cast<std::uint32_t>(una_lcn_ - w.first_lcn);
    if (send_csn_ < w.cells) return;
    send_csn_ = 0;
    ++send_no_;
  }
}

void Requester::apply_bitmap(const AckExt& ack, base::Time now) {
  std::size_t upto = 0;
  std::uint64_t bytes = 0, cells = 0;
  const Record* latest = nullptr;
  // Bit 0 is cumulative + 2. Bits of what was never sent mean nothing.
  const std::size_t bits = std::min<std::size_t>(std::size_t{ack.bitmap_words} * 32,
                                                 records_.empty() ? 0 : records_.size() - 1);
  for (std::size_t i = 0; i < bits; ++i) {
    const std::uint32_t word = ack.bitmap[i / 32];
    if (word == 0) {
      i |= 31;
      continue;
    }
    if ((word & (0x80000000U >> (i % 32))) == 0) continue;
    upto = i + 1;
    Record& r = records_[upto];
    if (r.state == CellState::kAcked) continue;
    if (r.state == CellState::kInFlight) in_flight_bytes_ -= r.wire_bytes;
    if (r.state == CellState::kLost) --lost_count_;
    if (r.state == CellState::kInFlight && tells_rtt(r) && r.tx_no > acked_tx_no_) {
      latest = &r;
    }
    acked_tx_no_ = std::max(acked_tx_no_, r.tx_no);
    r.state = CellState::kAcked;
    bytes += r.wire_bytes;
    ++cells;
  }
  if (latest != nullptr) congestion_.on_rtt_sample(now - latest->sent_at);
  if (upto > 0) detect_losses(upto);
  if (cells > 0) congestion_.on_ack(bytes, cells, now);
}

void Requester::complete_front(WcStatus status) {
  const Wqe& w = sq_.front();
  Wc wc;
  wc.wr_id = w.wr_id;
  wc.status = status;
  wc.op = wc_op(w.op);
  if (status == WcStatus::kSuccess && is_responded(w.op)) {
    wc.bytes = static_cast<std::uint32_t>(w.gather.bytes);
  }
  if (w.started && w.consumes_receive() && consumers_outstanding_ > 0) --consumers_outstanding_;
  if (!reads_.empty() && reads_.front().wqe_no == head_no_) reads_.pop();
  sq_.pop();
  ++head_no_;
  una_no_ = std::max(una_no_, head_no_);
  context_.complete(context_.send_cq, wc);
}

// Every work request whose last cell is acknowledged and whose answer, if it wants one, is here; in
// order.
void Requester::complete_acknowledged() {
  while (una_no_ < send_no_ && !before(una_lcn_, wqe(una_no_).first_lcn + wqe(una_no_).cells)) {
    ++una_no_;
    rnr_tries_ = 0;
  }
  while (true) {
    if (ending_ && ending_->no == head_no_) {
      const Ending ending = *std::exchange(ending_, {});
      return ending.is_drain ? end_drained(ending.status) : fail(ending.status);
    }
    if (head_no_ == una_no_) return;
    if (is_responded(sq_.front().op) && !reads_.front().is_whole()) return;
    complete_front(WcStatus::kSuccess);
  }
}

void Requester::on_ack(const AckExt& ack, base::Time now) {
  context_.counters.add(TransportCounter::kRxAcks);
  if (!ack.selective || !advance(ack.cumulative, now)) return;
  receive_credits_ = ack.receive_credits;
  complete_acknowledged();
  if (ack.bitmap_words > 0) apply_bitmap(ack, now);
}

// A refused packet CRC names the first cell of a packet whose cells were acknowledged already
// [3.4].
bool Requester::takes_packet_again(const CellView& cell, const AckExt& ack) {
  if (ack.code != AckCode::kSequence || cell.header.csn != 0) return false;
  if (una_no_ == tail_no_) return false;
  const Wqe& w = wqe(una_no_);
  if (!w.started || w.psn != cell.header.psn) return false;
  if (ack.cumulative + 1U != w.first_lcn || !before(ack.cumulative + 1U, una_lcn_)) return false;
  una_lcn_ = w.first_lcn;
  go_back();
  return true;
}

void Requester::on_rnr(const AckExt& ack, base::Time now) {
  if (now < rnr_until_) return;  // said twice: we wait already
  context_.counters.add(TransportCounter::kRnrSeen);
  if (context_.attr.rnr_retry < kRnrRetryForever && rnr_tries_++ >= context_.attr.rnr_retry) {
    return fail(WcStatus::kRnrRetryExceeded);
  }
  receive_credits_ = ack.receive_credits;
  rnr_until_ = now + std::chrono::microseconds(10) * std::max<int>(1, ack.detail);
  tries_ = 0;  // the peer is there
  progress_at_ = now;
  if (context_.attr.selective_repeat) {
    lose_front();
    rto_at_ = rnr_until_ + congestion_.rto();
  } else {
    go_back();
  }
}

// What is refused is the oldest packet, or an answer that was begun; a NAK of any other says
// nothing [T-24].
std::optional<std::uint64_t> Requester::refused_by(Psn psn) {
  if (una_no_ != tail_no_ && wqe(una_no_).started && wqe(una_no_).psn == psn &&
      una_lcn_ != sent_lcn_) {
    return una_no_;
  }
  const ReadSink* sink = sink_of(psn);
  if (sink == nullptr || sink->is_whole()) return std::nullopt;
  return sink->wqe_no;
}

void Requester::on_nak(const CellView& cell, const AckExt& ack, base::Time now) {
  context_.counters.add(TransportCounter::kRxNaks);
  if (!ack.selective || takes_packet_again(cell, ack)) return;
  if (!advance(ack.cumulative, now)) return;
  complete_acknowledged();
  const std::optional<std::uint64_t> no = refused_by(cell.header.psn);
  if (!no) return context_.counters.add(TransportCounter::kAckStale);
  switch (ack.code) {
    case AckCode::kAck:
      return;
    case AckCode::kRnr:
      return on_rnr(ack, now);
    case AckCode::kSequence:
      return go_back();
    case AckCode::kInvalidRequest:
    case AckCode::kInvalidRdRequest:
      return end_at(*no, WcStatus::kRemoteInvalid);
    case AckCode::kRemoteAccess:
      return end_at(*no, WcStatus::kRemoteAccess);
    case AckCode::kRemoteOperational:
      return end_at(*no, WcStatus::kRemoteOperational);
  }
}

// The oldest work request fails with `status`; the queue pair flushes the rest.
void Requester::fail(WcStatus status) {
  if (!sq_.empty()) complete_front(status);
  context_.fault = status;
}

}  // namespace splitnic::fabric
