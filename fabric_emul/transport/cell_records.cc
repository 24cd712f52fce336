#include "fabric_emul/transport/cell_records.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace splitnic::fabric {
namespace {

constexpr std::uint64_t kReorderCells = 3;

PathMask mask_of(const CellRecords::Record& record) {
  return static_cast<PathMask>(1U << record.path);
}

}  // namespace

std::optional<std::size_t> CellRecords::newly_acknowledged(Lcn cumulative) const {
  const std::int32_t count = cumulative - oldest_ + 1;
  if (count < 0 || count > sent_end_ - oldest_) return std::nullopt;
  return static_cast<std::size_t>(count);
}

CellRecords::Acked CellRecords::acknowledge(std::size_t count, base::Time now,
                                            const RetransmitTimer& timer) {
  Acked acked;
  std::uint64_t newest_retransmitted = 0;
  bool has_original = false;
  oldest_ = oldest_ + static_cast<std::uint32_t>(count);
  count = std::min(count, ring_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Record& r = ring_.front();
    if (r.state != State::kAcked) {
      acked.bytes += r.wire_bytes;
      ++acked.cells;
      if (r.is_retransmitted) {
        newest_retransmitted = std::max(newest_retransmitted, r.tx_no);
      } else {
        has_original = true;
        acked.paths |= mask_of(r);
        on_arrived(r);
      }
    }
    if (r.state == State::kInFlight) {
      end_flight(r);
      if (i + 1 == count && timer.gives_sample(r.sent_at, r.is_retransmitted)) {
        acked.rtt = now - r.sent_at;
      }
    }
    if (r.state == State::kLost) --lost_count_;
    ring_.pop();
  }
  // Which transmission of a retransmitted cell has arrived is unknown. If the ACK covers nothing
  // else, the cells that were sent before the retransmission are not coming any more.
  if (!has_original && !has_paths_) {
    newest_arrived_[0] = std::max(newest_arrived_[0], newest_retransmitted);
  }
  lost_hint_ = lost_hint_ > count ? lost_hint_ - count : 0;
  return acked;
}

CellRecords::Acked CellRecords::acknowledge_bitmap(const AckExt& ack, base::Time now,
                                                   const RetransmitTimer& timer) {
  Acked acked;
  const std::size_t bits = std::min<std::size_t>(std::size_t{ack.bitmap_words} * 32,
                                                 ring_.empty() ? 0 : ring_.size() - 1);
  for (std::size_t i = 0; i < bits; ++i) {
    const std::uint32_t word = ack.bitmap[i / 32];
    if (word == 0) {
      i |= 31;
      continue;
    }
    if ((word & (0x80000000U >> (i % 32))) == 0) continue;
    acked.bitmap_end = i + 1;
    Record& r = ring_[i + 1];
    if (r.state == State::kAcked) continue;
    if (r.state == State::kLost) --lost_count_;
    if (r.state == State::kInFlight) {
      end_flight(r);
      if (timer.gives_sample(r.sent_at, r.is_retransmitted) && r.tx_no > newest_arrived_[r.path]) {
        acked.rtt = now - r.sent_at;
      }
    }
    // Which transmission it was is unknown, and by which path.
    if (!r.is_retransmitted || !has_paths_) {
      acked.paths |= mask_of(r);
      on_arrived(r);
    }
    r.state = State::kAcked;
    acked.bytes += r.wire_bytes;
    ++acked.cells;
  }
  return acked;
}

void CellRecords::mark_lost(std::size_t index) {
  Record& r = ring_[index];
  if (r.state == State::kLost) return;
  if (r.state == State::kInFlight) end_flight(r);
  r.state = State::kLost;
  lost_hint_ = lost_count_ == 0 ? index : std::min(lost_hint_, index);
  ++lost_count_;
}

CellRecords::Losses CellRecords::detect_losses(std::size_t upto, base::Duration elsewhere) {
  Losses found;
  for (std::size_t i = 0; i < upto; ++i) {
    const Record& r = ring_[i];
    if (r.state != State::kInFlight) continue;
    const std::uint64_t newest = newest_arrived_[r.path];
    if (r.tx_no + kReorderCells > newest && !is_overtaken_elsewhere(r, elsewhere)) continue;
    if (r.tx_no > newest) found.silent |= mask_of(r);
    mark_lost(i);
    ++found.cells;
  }
  return found;
}

void CellRecords::lose_oldest() {
  if (ring_.empty()) return;
  if (ring_[0].state == State::kAcked) lose_reported();
  mark_lost(0);
}

PathMask CellRecords::lose_at_timeout() {
  if (ring_.empty()) return 0;
  const Record oldest = ring_[0];
  const std::uint64_t newest = newest_arrived_[oldest.path];
  const bool is_overtaken = oldest.sent_at < newest_sent_at_ && newest < oldest.tx_no;
  const bool is_second = std::exchange(newest_at_timeout_[oldest.path], newest) == newest;
  const bool is_silent = has_paths_ && (is_overtaken || is_second);
  std::uint64_t newest_lost = oldest.tx_no;
  for (std::size_t i = 1; i < ring_.size() && is_silent; ++i) {
    if (ring_[i].state != State::kInFlight || ring_[i].path != oldest.path) continue;
    newest_lost = std::max(newest_lost, ring_[i].tx_no);
    mark_lost(i);
  }
  lose_oldest();
  return newest < newest_lost ? mask_of(oldest) : PathMask{0};
}

void CellRecords::lose_reported() {
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    if (ring_[i].state == State::kAcked) mark_lost(i);
  }
}

void CellRecords::lose_some(std::size_t count) {
  for (std::size_t i = 1; i < ring_.size() && count > 0; ++i) {
    if (ring_[i].state != State::kInFlight) continue;
    mark_lost(i);
    --count;
  }
}

void CellRecords::lose_paths(PathMask paths) {
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    if (ring_[i].state == State::kInFlight && (mask_of(ring_[i]) & paths) != 0) mark_lost(i);
  }
}

CellRecords::Record& CellRecords::oldest_lost() {
  while (lost_hint_ < ring_.size() && ring_[lost_hint_].state != State::kLost) ++lost_hint_;
  CHECK(lost_hint_ < ring_.size());
  return ring_[lost_hint_];
}

void CellRecords::on_retransmitted(Record& record, base::Time now, std::uint8_t path) {
  record.is_retransmitted = true;
  set_in_flight(record, now, path);
  --lost_count_;
  ++lost_hint_;
}

}  // namespace splitnic::fabric
