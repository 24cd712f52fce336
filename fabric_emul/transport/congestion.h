// The congestion window of one RC queue pair or stream, in bytes on the wire (a datagram counts at
// least 1 KiB), and its retransmission timeout. Pure: time comes in with every call.
//
// - Window: AIMD on a delay target, with one decision per round trip, as Swift (SIGCOMM 2020) and
//   LEDBAT (RFC 6817) do: additive increase while the queueing delay is below the target, one
//   multiplicative decrease when it is above. Slow start as in RFC 5681.
// - Loss: reduces the window only when more than 2 % of a round's cells were lost (the loss
//   threshold of BBRv2), so that random loss does not starve the path.
// - Minimum RTT: where round trips stay long, two rounds with a minimum window show whether that is
//   our own queue or the path itself (the ProbeRTT state of BBR).
// - Timeout: RFC 6298 with a smaller minimum, and doubling on each timeout up to a limit. The
//   caller applies Karn's rule: it passes no samples of retransmitted cells. Where each link
//   repairs its damage, a cell may be late by several tries of that, which are no reason to repeat
//   it: the minimum is longer there [S000-42].
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace splitnic::fabric {

class Congestion {
 public:
  static constexpr std::uint64_t kWindowMin = 16 * 1024;
  static constexpr std::uint64_t kWindowStart = 256 * 1024;

  // window_max is half of the peer's receive buffer; less than kWindowMin counts as kWindowMin.
  // `links_repair`: each link of the path repairs what is damaged there (full profile).
  explicit Congestion(std::uint64_t window_max, bool links_repair = false);

  std::uint64_t window() const { return window_; }
  base::Duration rto() const;
  // The smoothed round trip: from a cell to its acknowledgement. 0 before the first.
  base::Duration round_trip() const { return srtt_; }
  // One that few are longer than; 0 before the first.
  base::Duration slow_round_trip() const { return srtt_ + 4 * rttvar_; }

  void on_ack(std::uint64_t bytes_acked, std::uint64_t cells_acked, base::Time now);
  void on_rtt_sample(base::Duration rtt);
  void on_loss(std::uint64_t cells_lost) { lost_ += cells_lost; }
  void on_timeout();
  // The peer has acknowledged something. Until the first sample the doubled timeout stays: on a
  // path whose round trip exceeds kRtoStart there would never be a sample.
  void on_progress() {
    if (srtt_ != base::Duration{0}) backoff_ = 0;
  }
  // Tests may fix the time-out (no adaptation, no doubling).
  void fix_rto(base::Duration rto) { fixed_rto_ = rto; }

 private:
  void end_of_round();
  void end_of_drained_round();

  std::uint64_t window_max_;
  std::uint64_t window_;
  base::Duration rto_min_;
  bool is_slow_start_ = true;
  base::Duration srtt_{0};  // RFC 6298: smoothed RTT and its variation
  base::Duration rttvar_{0};
  base::Duration min_rtt_{0};
  base::Duration round_rtt_{0};  // minimum RTT of this round
  unsigned queued_rounds_ = 0;   // consecutive rounds above the delay target
  unsigned drained_rounds_ = 0;  // rounds left with the minimum window; the last measures the RTT
  std::uint64_t window_before_ = 0;
  base::Duration fixed_rto_{0};
  unsigned backoff_ = 0;
  base::Time round_end_{};
  std::uint64_t acked_ = 0;  // cells acknowledged in this round
  std::uint64_t acked_bytes_ = 0, last_acked_bytes_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace splitnic::fabric
