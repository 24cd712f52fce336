// What is sent again: cells that the bitmap shows to be missing, the oldest cell after a time-out,
// or everything from the first missing cell (go-back-N, a refused packet CRC).
#include <algorithm>

#include "base/check.h"
#include "fabric_emul/transport/requester.h"

namespace splitnic::fabric {
namespace {

// A cell is lost when one sent this many cells after it has arrived.
constexpr std::uint64_t kReorderCells = 3;
constexpr std::size_t kCellsATimeout = 4;

}  // namespace

void Requester::arm(base::Time now) {
  if (rto_at_ == base::kNever && tries_ == 0) progress_at_ = now;
  rto_at_ = now + congestion_.rto();
}

void Requester::mark_lost(Record& r, std::size_t index) {
  if (r.state == CellState::kLost) return;
  if (r.state == CellState::kInFlight) in_flight_bytes_ -= r.wire_bytes;
  r.state = CellState::kLost;
  lost_hint_ = lost_count_ == 0 ? index : std::min(lost_hint_, index);
  ++lost_count_;
}

// The oldest cell goes again. If the peer had it once and gave it back (RNR, refused packet CRC),
// nothing that it said of later ones counts.
void Requester::lose_front() {
  if (records_.empty()) return;
  if (records_.front().state == CellState::kAcked) {
    for (std::size_t i = 1; i < records_.size(); ++i) {
      if (records_[i].state == CellState::kAcked) mark_lost(records_[i], i);
    }
  }
  mark_lost(records_.front(), 0);
}

// Among the first `upto` records: those in flight that a much later transmission overtook.
void Requester::detect_losses(std::size_t upto) {
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < upto; ++i) {
    Record& r = records_[i];
    if (r.state != CellState::kInFlight || r.tx_no + kReorderCells > acked_tx_no_) continue;
    mark_lost(r, i);
    ++found;
  }
  if (found > 0) congestion_.on_loss(found);
}

bool Requester::resend_lost(Link& link, base::Time now) {
  while (lost_hint_ < records_.size() && records_[lost_hint_].state != CellState::kLost) {
    ++lost_hint_;
  }
  CHECK(lost_hint_ < records_.size());
  Record& r = records_[lost_hint_];
  if (ending_ && r.wqe_no >= ending_->no) return false;  // only what is before it still matters
  // The oldest always goes: what fills the window may be lost too, and only its ACK shows it.
  if (lost_hint_ != 0 && !window_has_room(r.wire_bytes)) return false;
  // The last lost one asks for an ACK, so that a lost retransmission shows soon.
  const bool ask = lost_count_ == 1 || context_.attr.ack_interval <= 1;
  if (emit(link, r.wqe_no, r.csn, true, ask) == 0) return false;
  r.state = CellState::kInFlight;
  r.again = true;
  r.sent_at = now;
  r.tx_no = next_tx_no_++;
  in_flight_bytes_ += r.wire_bytes;
  // The time-out is of the oldest cell: it has a full one from here.
  if (lost_hint_ == 0 || rto_at_ == base::kNever) arm(now);
  --lost_count_;
  ++lost_hint_;
  return true;
}

// Un-sends everything from the oldest unacknowledged cell: it is made again by the fresh path.
void Requester::go_back() {
  records_.clear();
  in_flight_bytes_ = 0;
  lost_count_ = lost_hint_ = 0;
  rto_at_ = base::kNever;
  next_lcn_ = una_lcn_;
  send_no_ = una_no_;
  send_csn_ = 0;
  consumers_outstanding_ = 0;
  for (std::uint64_t no = head_no_; no < una_no_; ++no) {
    consumers_outstanding_ += wqe(no).consumes_receive() ? 1 : 0;
  }
  if (una_no_ == tail_no_ || !wqe(una_no_).started) return;
  const std::int32_t into = una_lcn_ - wqe(una_no_).first_lcn;
  CHECK(into >= 0 && static_cast<std::uint32_t>(into) < wqe(una_no_).cells);
  send_csn_ = static_cast<std::uint32_t>(into);
  if (send_csn_ > 0 && wqe(una_no_).consumes_receive()) ++consumers_outstanding_;
}

void Requester::on_time(base::Time now) {
  if (now >= rnr_until_) rnr_until_ = base::Time{};
  if (!ask_late(now) || now < rto_at_) return;
  context_.counters.add(TransportCounter::kTimeouts);
  const bool stalled = now - progress_at_ >= limits_.stall_min;
  if (tries_ >= context_.attr.retry_count && stalled) return fail(WcStatus::kRetryExceeded);
  ++tries_;
  timeout_at_ = now;
  congestion_.on_timeout();
  if (context_.attr.selective_repeat) {
    lose_front();
    // A few of those behind it too: one datagram alone would not outlast a burst of losses.
    std::size_t more = kCellsATimeout - 1;
    for (std::size_t i = 1; i < records_.size() && more > 0; ++i) {
      if (records_[i].state != CellState::kInFlight) continue;
      mark_lost(records_[i], i);
      --more;
    }
  } else {
    go_back();
  }
  arm(now);
}

// rto_at_ is kNever when nothing that was sent waits for its ACK.
base::Time Requester::deadline() const {
  const base::Time at = std::min({rto_at_, responses_deadline(), delay_until_});
  if (rnr_until_ > base::Time{} && has_unsent()) return std::min(at, rnr_until_);
  return at;
}

}  // namespace splitnic::fabric
