// The retransmission timer of one sender (RFC 6298, section 5) and the limit of its tries. The
// sender fails when it has used up its tries and has made no progress for stall_min, so that a
// path whose timeout is short is given time to recover. The timeout itself comes from Congestion.
// Pure: time comes in with every call.
#pragma once

#include "base/clock.h"

namespace splitnic::fabric {

class RetransmitTimer {
 public:
  explicit RetransmitTimer(base::Duration stall_min) : stall_min_(stall_min) {}

  // (Re)starts the timer: the oldest cell in flight is due at now + rto.
  void arm(base::Time now, base::Duration rto) {
    if (!is_armed() && tries_ == 0) progress_at_ = now;
    at_ = now + rto;
  }
  // The timer continues, but expires at `at`.
  void postpone(base::Time at) { at_ = at; }
  void disarm() { at_ = base::kNever; }
  bool is_armed() const { return at_ != base::kNever; }
  base::Time deadline() const { return at_; }

  // The peer has acknowledged something, or its link is up again.
  void on_progress(base::Time now) {
    tries_ = 0;
    progress_at_ = now;
  }
  // Cells have been acknowledged: the timer restarts for those that are still in flight, or stops.
  void on_acknowledged(base::Time now, bool are_in_flight, base::Duration rto) {
    on_progress(now);
    if (are_in_flight) {
      arm(now, rto);
    } else {
      disarm();
    }
  }
  void reset_tries() { tries_ = 0; }
  bool is_exhausted(base::Time now, unsigned tries_max) const {
    return tries_ >= tries_max && now - progress_at_ >= stall_min_;
  }
  // A timeout has expired, and the sender tries again.
  void on_timeout(base::Time now) {
    ++tries_;
    timed_out_at_ = now;
  }
  // Karn's rule: only a cell that was sent once, after the newest timeout, gives an RTT sample.
  // The ACK of any other may be the late one of an earlier transmission.
  bool gives_sample(base::Time sent_at, bool is_retransmitted) const {
    return !is_retransmitted && sent_at > timed_out_at_;
  }

 private:
  base::Duration stall_min_;
  base::Time at_ = base::kNever;
  base::Time progress_at_{};
  base::Time timed_out_at_{};
  unsigned tries_ = 0;
};

}  // namespace splitnic::fabric
