#include "fabric_emul/transport/congestion.h"

#include <algorithm>

namespace splitnic::fabric {
namespace {

using namespace std::chrono_literals;
// RFC 6298 has 1 s, 60 s and 1 s; the paths here are within a data centre.
constexpr base::Duration kRtoMin = 2ms;
// A link tries again after 1 ms, and then after twice as long each time: four tries.
constexpr base::Duration kRtoMinRepairing = 20ms;
constexpr base::Duration kRtoMax = 500ms;
constexpr base::Duration kRtoStart = 20ms;
// Doubling ends here. Two dozen tries fit into the 5 s before a queue pair fails, as a path that
// loses every third datagram needs.
constexpr base::Duration kRtoBackedOff = 200ms;
// The target of the queueing delay. The wake-ups of both processes are part of it.
constexpr base::Duration kDelayTarget = 2ms;
constexpr std::uint64_t kStep = 64 * 1024;  // additive increase per round trip
// After this many consecutive rounds with a queue two rounds measure the RTT without one: 3 %.
constexpr unsigned kQueuedRounds = 64;
constexpr std::uint64_t kLossDivisor = 50;  // 2 %

}  // namespace

Congestion::Congestion(std::uint64_t window_max, bool links_repair)
    : window_max_(std::max(window_max, kWindowMin)),
      window_(std::min(kWindowStart, window_max_)),
      rto_min_(links_repair ? kRtoMinRepairing : kRtoMin) {}

base::Duration Congestion::rto() const {
  if (fixed_rto_ > base::Duration{0}) return fixed_rto_;
  // A steady round trip has no variation, yet the next ACK may come a batch later.
  const base::Duration margin = std::max<base::Duration>(4 * rttvar_, rto_min_ + srtt_ / 4);
  const base::Duration plain = srtt_ == base::Duration{0} ? kRtoStart : srtt_ + margin;
  const base::Duration clamped = std::clamp(plain, rto_min_, kRtoMax);
  return std::max(clamped, std::min(kRtoBackedOff, clamped * (1U << std::min(backoff_, 8U))));
}

void Congestion::on_rtt_sample(base::Duration rtt) {
  if (srtt_ == base::Duration{0}) {
    srtt_ = rtt;
    rttvar_ = rtt / 2;
    min_rtt_ = rtt;
  } else {
    const base::Duration delta = rtt > srtt_ ? rtt - srtt_ : srtt_ - rtt;
    rttvar_ = (3 * rttvar_ + delta) / 4;
    srtt_ = (7 * srtt_ + rtt) / 8;
    min_rtt_ = std::min(min_rtt_, rtt);
  }
  round_rtt_ = round_rtt_ == base::Duration{0} ? rtt : std::min(round_rtt_, rtt);
}

void Congestion::on_ack(std::uint64_t bytes_acked, std::uint64_t cells_acked, base::Time now) {
  acked_ += cells_acked;
  acked_bytes_ += bytes_acked;
  if (is_slow_start_) window_ = std::min(window_max_, window_ + bytes_acked);
  if (now < round_end_) return;
  end_of_round();
  round_end_ = now + std::max<base::Duration>(srtt_, 100us);
}

// The first drained round empties the path, the second measures it.
void Congestion::end_of_drained_round() {
  const bool has_sample = round_rtt_ != base::Duration{0};
  if (drained_rounds_ == 2 || has_sample) --drained_rounds_;
  if (drained_rounds_ > 0) return;
  min_rtt_ = round_rtt_;
  window_ = window_before_;
}

void Congestion::end_of_round() {
  if (drained_rounds_ > 0) {
    end_of_drained_round();
    acked_ = acked_bytes_ = lost_ = 0;
    round_rtt_ = base::Duration{0};
    return;
  }
  const bool is_queued = round_rtt_ > min_rtt_ + kDelayTarget;
  const bool is_lossy = lost_ * kLossDivisor > acked_ + lost_;
  if (is_queued || is_lossy) {
    is_slow_start_ = false;
    // Never below what a round delivered, because the path carried that much. ACKs come in bunches,
    // so the better one of two rounds counts.
    const std::uint64_t delivered = std::max(acked_bytes_, last_acked_bytes_);
    window_ = std::max({kWindowMin, window_ / 2, std::min(delivered, window_)});
  }
  // Without a queue the loss may be random: the window grows on, but by less.
  if (!is_slow_start_ && !is_queued) {
    window_ = std::min(window_max_, window_ + std::min(kStep, is_lossy ? window_ / 8 : kStep));
  }
  queued_rounds_ = is_queued ? queued_rounds_ + 1 : 0;
  if (queued_rounds_ >= kQueuedRounds) {
    queued_rounds_ = 0;
    drained_rounds_ = 2;
    window_before_ = window_;
    window_ = kWindowMin;
  }
  last_acked_bytes_ = acked_bytes_;
  acked_ = acked_bytes_ = lost_ = 0;
  round_rtt_ = base::Duration{0};
}

void Congestion::on_timeout() {
  ++backoff_;
  is_slow_start_ = true;
  window_ = std::max(kWindowMin, window_ / 2);
  window_before_ = std::max(kWindowMin, window_before_ / 2);
}

}  // namespace splitnic::fabric
