// ACKs and time: what has arrived, what goes again.
#include <algorithm>

#include "fabric_emul/stream/stream_sender.h"

namespace splitnic::fabric {
namespace {

constexpr unsigned kSameAcksMax = 3;

}  // namespace

// The peer may have taken everything up to here: cells are taken whole, and only what was sent.
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
  const bool is_update = ack.receive_credits != receive_credits_;
  const bool had_none = receive_credits_ == 0;
  receive_credits_ = ack.receive_credits;
  if (advance(next, now)) {
    complete_done();
  } else if (!records_.empty() && !is_update) {
    on_nothing_new(ack, now);
  } else if (had_none && is_update) {
    go_back();  // what found no receive finds one now
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
    if (!r.again && r.sent_at > timeout_at_) rtt = now - r.sent_at;
    if (in_flight_ > 0) {
      --in_flight_;
      in_flight_bytes_ -= r.bytes;
    }
    retire(r);
    records_.pop();
  }
  if (cells == 0) return false;
  una_ = next;
  tries_ = 0;
  same_acks_ = 0;
  progress_at_ = now;
  if (recovers_ && recover_ - una_ <= 0) recovers_ = false;
  congestion_.on_progress();
  if (rtt >= base::Duration{0}) congestion_.on_rtt_sample(rtt);
  congestion_.on_ack(bytes, cells, now);
  rto_at_ = records_.empty() ? base::kNever : now + congestion_.rto();
  return true;
}

void StreamSender::retire(const Record& record) {
  if (!record.is_last) return;
  if (record.is_response) {
    const ReadResponse& response = responses_.at(static_cast<std::uint32_t>(record.item));
    context_.mrwt.spend(response.source.handle, context_.qpn, response.psn);
    return;
  }
  Wqe& w = wqe(record.item);
  w.is_acknowledged = true;
  if (w.consumes_receive()) --consumers_outstanding_;
}

// A peer without receives is alive: that does not count against the try limit.
void StreamSender::on_nothing_new(const AckExt& ack, base::Time now) {
  if (ack.receive_credits == 0) {
    const Record& oldest = records_.front();
    if (!oldest.is_response && wqe(oldest.item).consumes_receive()) {
      tries_ = 0;
      progress_at_ = now;
      return;
    }
  }
  if (recovers_ || ++same_acks_ < kSameAcksMax) return;
  congestion_.on_loss(1);
  go_back();
}

void StreamSender::go_back() {
  recovers_ = true;
  recover_ = next_number_;
  same_acks_ = 0;
  in_flight_ = 0;
  in_flight_bytes_ = 0;
}

void StreamSender::on_time(base::Time now) {
  if (now < rto_at_) return;
  context_.counters.add(StreamCounter::kTimeouts);
  if (tries_ >= limits_.retry_count && now - progress_at_ >= limits_.stall_min) {
    const Record& oldest = records_.front();
    if (oldest.is_response) return context_.fail();
    return fail_at(oldest.item, WcStatus::kRetryExceeded);
  }
  ++tries_;
  timeout_at_ = now;
  congestion_.on_timeout();
  go_back();
  rto_at_ = now + congestion_.rto();
}

}  // namespace splitnic::fabric
