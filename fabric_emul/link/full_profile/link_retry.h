// Retry of one link, go-back-N: the sender keeps every DATA flit until it is acknowledged and goes
// back to the oldest on LNAK or time-out; the receiver accepts only the LSN it expects and sends
// one LNAK per gap. LSNs count the DATA flits of all lanes together, from a number that INIT
// agreed. The time-out follows RFC 6298 (SRTT, RTTVAR), with samples by Karn's rule. Invariant: the
// LSNs kept are [first_, next_), at most `window` of them. docs/protocol/flit.md [S000-44]
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

class RetrySender {
 public:
  // REQUIRES window <= kLsnWindowMax.
  RetrySender(std::size_t window, std::size_t flit_payload_max, base::Duration timeout_min,
              base::Duration first_timeout, unsigned failures_max);

  // Starts with this LSN. Measurements of the path are kept.
  void start(Lsn first);
  bool full() const { return kept() >= limit(); }
  bool empty() const { return kept() == 0; }
  // More than failures_max attempts without an acknowledgement: the link is dead.
  bool is_dead() const { return failures_ > failures_max_; }

  struct Kept {
    FlitHeader header;
    base::Bytes payload;
  };
  // Returns room for the payload of the next new flit. REQUIRES !full().
  base::MutableBytes room();
  // Keeps the flit whose payload was written into room() and assigns its LSN.
  Kept push(base::Time now, FlitHeader header, std::size_t payload_bytes);
  bool has_resend() const {
    return resend_ != next_ && static_cast<std::size_t>(resend_ - first_) < limit();
  }
  // The number of flits that may be in flight: halved by each failure, so that a bad path carries
  // few retransmissions and cells wait in their queue pairs instead.
  std::size_t room_now() const { return room_; }
  // Returns the lane of the next flit to retransmit. REQUIRES has_resend().
  std::uint8_t resend_lane() { return header(resend_).vl; }
  // Returns the next flit to retransmit. REQUIRES has_resend().
  Kept resend(base::Time now);

  // Returns false if `ack` is of a flit never sent, or sent more than a window ago: ignored.
  bool on_ack(base::Time now, Lsn ack);
  bool on_lnak(base::Time now, Lsn ack);
  bool is_newest(Lsn ack) const { return ack + 1U == first_; }
  void on_time(base::Time now);
  base::Time deadline() const { return empty() ? base::kNever : progress_ + timeout_; }
  base::Duration timeout() const { return timeout_; }

 private:
  std::size_t kept() const { return static_cast<std::size_t>(next_ - first_); }
  std::size_t limit() const { return is_probing_ ? 1 : room_; }
  std::byte* slot(Lsn lsn) { return store_.data() + lsn.value % window_ * payload_max_; }
  FlitHeader& header(Lsn lsn) { return headers_[lsn.value % window_]; }
  void go_back(base::Time now, bool is_requested);
  void measure(base::Time now);

  const std::size_t window_;  // a power of two, so that slots stay when the LSN wraps
  const std::size_t payload_max_;
  const base::Duration timeout_min_;
  const unsigned failures_max_;
  std::vector<std::byte> store_;
  std::vector<FlitHeader> headers_;
  Lsn first_{1}, next_{1}, resend_{1};
  std::size_t room_;
  unsigned failures_ = 0;
  base::Time progress_{};
  Lsn refused_{0};  // LSN that the last LNAK requested; a second such LNAK is a copy

  // Round-trip time, of one flit at a time: one that was sent once, or that LNAK requested.
  base::Duration timeout_;
  base::Duration srtt_{0}, rttvar_{0};
  bool is_timing_ = false;
  bool times_resend_ = false;  // of the flit that LNAK requested
  bool timed_out_ = false;     // since the last acknowledgement
  // A second time-out in a row: the peer may have everything and wait for a processor. Only the
  // oldest flit is retransmitted, until it acknowledges something or asks for more.
  bool is_probing_ = false;
  Lsn timed_{0};
  base::Time timed_at_{};
};

class RetryReceiver {
 public:
  enum class Verdict : std::uint8_t {
    kTake,
    kRepeated,  // a duplicate: acknowledge it
    kGap,       // something before it is missing
  };
  void start(Lsn first) {
    *this = RetryReceiver();
    expected_ = first;
  }
  Verdict on_data(Lsn lsn);
  void on_bad_flit() { request(); }
  Lsn ack() const { return expected_ - 1U; }
  // Returns true once per gap.
  bool take_lnak() { return std::exchange(lnak_due_, false); }

 private:
  void request() {
    lnak_due_ = lnak_due_ || !requested_;
    requested_ = true;
  }
  Lsn expected_{1};
  bool requested_ = false;
  bool lnak_due_ = false;
};

}  // namespace splitnic::fabric
