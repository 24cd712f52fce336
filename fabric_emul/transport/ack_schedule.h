// Decides when the responder of a queue pair sends its next ACK. One ACK covers several cells
// [S004-04]; docs/protocol/transport.md, P-RC-5. Its states:
//
//   idle     no cell waits for an ACK
//   delayed  cells wait, fewer than the ACK interval; the delay runs from the first of them
//   due      the ACK leaves at the end of the batch, or later when the link has room for it
//
// An ACK becomes due when as many cells wait as the ACK interval has, when the delay is over, or by
// make_due(). Which cells it covers is known to the responder alone. Pure: time comes in with every
// call. Thread: the data thread.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace splitnic::fabric {

class AckSchedule {
 public:
  // delay: the longest time that the first cell waits for others.
  explicit AckSchedule(base::Duration delay) : delay_(delay) {}

  // A cell requested an ACK by its flag A, or the peer must learn soon that a cell came twice or
  // that one is missing.
  void make_due() { is_due_ = true; }
  // A cell behind a gap is kept: an ACK covers it by its bitmap.
  void on_kept() { ++unacked_cells_; }
  // Cells were taken in order, with the same effect as one by one. REQUIRES cells > 0. The interval
  // is that of now, because the owner of the queue pair may change it between two calls.
  void on_taken(std::uint32_t cells, std::uint32_t interval, base::Time now) {
    if (unacked_cells_ + 1 < interval && delayed_until_ == base::kNever) {
      delayed_until_ = now + delay_;
    }
    unacked_cells_ += cells;
    if (unacked_cells_ >= interval) is_due_ = true;
  }
  // Back to idle: an ACK or a NAK was put into the link, or the queue pair was flushed. A NAK
  // acknowledges the same cells as an ACK.
  void clear() {
    unacked_cells_ = 0;
    is_due_ = false;
    delayed_until_ = base::kNever;
  }

  bool is_due(base::Time now) const { return is_due_ || now >= delayed_until_; }
  // Delayed or due.
  bool is_pending() const { return is_due_ || unacked_cells_ > 0; }
  // When a delayed ACK becomes due; base::kNever if no delay runs.
  base::Time deadline() const { return delayed_until_; }

 private:
  base::Duration delay_;
  base::Time delayed_until_ = base::kNever;
  std::uint32_t unacked_cells_ = 0;  // taken in order or kept, since the last ACK or NAK
  bool is_due_ = false;
};

}  // namespace splitnic::fabric
