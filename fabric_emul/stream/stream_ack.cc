// ACKs and time: which cells have arrived, and which are retransmitted.
#include <algorithm>

#include "fabric_emul/stream/stream_sender.h"
#include "fabric_emul/stream/stream_terminate.h"

namespace splitnic::fabric {
namespace {

constexpr unsigned kSameAcksMax = 3;  // RFC 5681, section 3.2

}  // namespace

// A valid ACK names the end of a cell that was sent, because cells are taken whole.
bool StreamSender::is_cell_end(StreamNumber next) const {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const std::int32_t distance = records_[i].end() - next;
    if (distance >= 0) return distance == 0;
  }
  return false;
}

void StreamSender::on_ack(StreamNumber next, const AckExt& ack, base::Time now) {
  const std::int32_t distance = next - una_;
  if (distance < 0) return context_.counters.add(StreamCounter::kAckLate);
  if (distance > 0 && !is_cell_end(next)) {
    context_.counters.add(StreamCounter::kDropAck);
    return;
  }
  context_.counters.add(StreamCounter::kRxAcks);
  const bool is_update = ack.receive_credits != credits_.posted();
  const bool had_none = credits_.posted() == 0;
  credits_.update(ack.receive_credits);
  if (advance(next, now)) {
    complete_done();
  } else if (!records_.empty() && !is_update) {
    on_nothing_new(ack, now);
  } else if (had_none && is_update) {
    go_back();  // the peer had no receive for the oldest cell, and has one now
  }
}

void StreamSender::on_arrived(StreamNumber next, base::Time now) {
  if (next - una_ > 0 && is_cell_end(next) && advance(next, now)) complete_done();
}

// REQUIRES that `next` is the end of a cell, or una_.
bool StreamSender::advance(StreamNumber next, base::Time now) {
  std::uint64_t bytes = 0;
  std::uint64_t cells = 0;
  base::Duration rtt{-1};
  while (!records_.empty() && records_.front().end() - next <= 0) {
    const Record& r = records_.front();
    bytes += r.bytes;
    ++cells;
    if (timer_.gives_sample(r.sent_at, r.is_retransmitted)) rtt = now - r.sent_at;
    if (in_flight_ > 0) {
      --in_flight_;
      in_flight_bytes_ -= r.bytes;
    }
    retire(r);
    records_.pop();
  }
  if (cells == 0) return false;
  una_ = next;
  same_acks_ = 0;
  if (is_recovering_ && recover_ - una_ <= 0) is_recovering_ = false;
  congestion_.on_progress();
  if (rtt >= base::Duration{0}) congestion_.on_rtt_sample(rtt);
  congestion_.on_ack(bytes, cells, now);
  timer_.on_acknowledged(now, !records_.empty(), congestion_.rto());
  return true;
}

void StreamSender::retire(const Record& record) {
  if (!record.is_last) return;
  if (record.is_response) {
    const auto msn = static_cast<std::uint32_t>(record.item);
    const ReadResponse& response = responses_.at(msn);
    context_.mrwt.one_touch().spend(response.source.handle, context_.qpn, response.psn);
    responses_.acknowledge(msn);
    return;
  }
  Wqe& w = queue_[record.item];
  w.is_acknowledged = true;
  credits_.release(w);
}

// A peer that has no receives posted is alive, so its ACKs reset the tries.
void StreamSender::on_nothing_new(const AckExt& ack, base::Time now) {
  if (ack.receive_credits == 0) {
    const Record& oldest = records_.front();
    if (!oldest.is_response && queue_[oldest.item].consumes_receive()) {
      timer_.on_progress(now);
      return;
    }
  }
  if (is_recovering_ || ++same_acks_ < kSameAcksMax) return;
  congestion_.on_loss(1);
  go_back();
}

void StreamSender::go_back() {
  is_recovering_ = true;
  recover_ = next_number_;
  same_acks_ = 0;
  in_flight_ = 0;
  in_flight_bytes_ = 0;
}

void StreamSender::on_time(base::Time now) {
  if (now < timer_.deadline()) return;
  context_.counters.add(StreamCounter::kTimeouts);
  if (timer_.is_exhausted(now, limits_.retry_count)) {
    const Record& oldest = records_.front();
    if (!oldest.is_response) return fail_at(oldest.item, WcStatus::kRetryExceeded);
    // The peer waits for its read without a timer. TERMINATE is short and may pass where long cells
    // are lost.
    const ReadResponse& response = responses_.at(static_cast<std::uint32_t>(oldest.item));
    return context_.fail(refused_cell(request_of(response), TerminateCause::kLocalCatastrophic));
  }
  timer_.on_timeout(now);
  congestion_.on_timeout();
  go_back();
  timer_.arm(now, congestion_.rto());
}

}  // namespace splitnic::fabric
