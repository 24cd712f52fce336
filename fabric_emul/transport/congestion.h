// Congestion window of one RC queue pair, in bytes on the wire (a datagram counts at least 1 KiB).
// Additive increase per round trip on a delay target, at most one decrease per round trip; loss
// alone cuts only when more than 2 % of a round trip's cells were lost, so that random loss does
// not starve the path. Where round trips stay long, a round with almost nothing under way shows
// whether that is our own queue or the path itself. RTT estimation and the retransmission time-out
// live here too. Pure: time comes in with every call.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace splitnic::fabric {

class Congestion {
 public:
  static constexpr std::uint64_t kWindowMin = 16 * 1024;
  static constexpr std::uint64_t kWindowStart = 256 * 1024;

  // REQUIRES window_max >= kWindowMin: half of what the peer's receive buffer holds.
  explicit Congestion(std::uint64_t window_max);

  std::uint64_t window() const { return window_; }
  base::Duration rto() const;

  void on_ack(std::uint64_t bytes_acked, std::uint64_t cells_acked, base::Time now);
  void on_rtt_sample(base::Duration rtt);
  void on_loss(std::uint64_t cells_lost) { lost_ += cells_lost; }
  void on_timeout();
  void on_progress() { backoff_ = 0; }
  // Tests may fix the time-out (no adaptation, no doubling).
  void fix_rto(base::Duration rto) { fixed_rto_ = rto; }

 private:
  void end_of_round();
  void end_of_drained_round();

  std::uint64_t window_max_;
  std::uint64_t window_;
  bool slow_start_ = true;
  base::Duration srtt_{0};
  base::Duration rttvar_{0};
  base::Duration min_rtt_{0};
  base::Duration round_rtt_{0};  // least RTT seen in this round
  unsigned queued_rounds_ = 0;   // in a row
  unsigned drained_rounds_ = 0;  // to come with the least window; the last of them tells the RTT
  std::uint64_t window_before_ = 0;
  base::Duration fixed_rto_{0};
  unsigned backoff_ = 0;
  base::Time round_end_{};
  std::uint64_t acked_ = 0;  // cells acknowledged in this round
  std::uint64_t acked_bytes_ = 0, last_acked_bytes_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace splitnic::fabric
