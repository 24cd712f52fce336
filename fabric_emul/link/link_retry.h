// Retry of one link: the sender keeps every DATA flit until it is acknowledged and goes back to the
// oldest on LNAK or time-out; the receiver takes only the LSN it expects and asks once per gap.
// LSNs count the DATA flits of all lanes together, from a number that INIT agreed. [S000-44]
// docs/wire/flit.md
// Invariant: the LSNs kept are [first_, next_), at most `window` of them.
#pragma once

#include <cstddef>
#include <cstdint>
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

  // What was measured of the path stays.
  void start(Lsn first);
  bool full() const { return kept() >= room_; }
  bool empty() const { return kept() == 0; }
  // More than failures_max attempts without an acknowledgement: the link is dead.
  bool is_dead() const { return failures_ > failures_max_; }

  struct Kept {
    FlitHeader header;
    base::Bytes payload;
  };
  // Room for the payload of the next new flit. REQUIRES !full().
  base::MutableBytes room();
  // Keeps the flit whose payload was written into room(); gives it its LSN.
  Kept push(base::Time now, FlitHeader header, std::size_t payload_bytes);
  bool has_resend() const {
    return resend_ != next_ && static_cast<std::size_t>(resend_ - first_) < room_;
  }
  // Nothing that was sent since start() was ever acknowledged.
  bool is_fruitless() const { return is_fruitless_ && !empty(); }
  // Flits that may be on their way now: halved by each failure, so that a bad path carries little
  // in vain and what waits for it waits in the queue pairs.
  std::size_t room_now() const { return room_; }
  Kept resend(base::Time now);  // the next one. REQUIRES has_resend()

  // False: acknowledges what was never sent, or what was long ago; ignored.
  bool on_ack(base::Time now, Lsn ack);
  bool on_lnak(base::Time now, Lsn ack);
  bool is_newest(Lsn ack) const { return ack + 1U == first_; }
  void on_time(base::Time now);
  base::Time deadline() const { return empty() ? base::kNever : progress_ + timeout_; }
  base::Duration timeout() const { return timeout_; }

 private:
  std::size_t kept() const { return static_cast<std::size_t>(next_ - first_); }
  std::byte* slot(Lsn lsn) { return store_.data() + lsn.value % window_ * payload_max_; }
  FlitHeader& header(Lsn lsn) { return headers_[lsn.value % window_]; }
  void go_back(base::Time now, bool is_asked);
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
  bool is_fruitless_ = true;
  base::Time progress_{};
  Lsn refused_{0};  // the last LNAK asked for this one; the same again is a copy of it

  // Round trip, of one flit at a time: one that went once, or that the peer said it did not have.
  base::Duration timeout_;
  base::Duration srtt_{0}, rttvar_{0};
  bool is_timing_ = false;
  bool times_resend_ = false;  // of the one that was asked for
  bool timed_out_ = false;     // since the last acknowledgement
  Lsn timed_{0};
  base::Time timed_at_{};
};

class RetryReceiver {
 public:
  enum class Verdict : std::uint8_t {
    kTake,
    kRepeated,  // had before: acknowledge again
    kGap,       // something before it is missing
  };
  void start(Lsn first) {
    *this = RetryReceiver();
    expected_ = first;
  }
  Verdict on_data(Lsn lsn);
  void on_bad_flit() { ask(); }
  Lsn ack() const { return expected_ - 1U; }
  // True once per gap.
  bool take_lnak() {
    const bool due = lnak_due_;
    lnak_due_ = false;
    return due;
  }
  bool lnak_due() const { return lnak_due_; }

 private:
  void ask() {
    lnak_due_ = lnak_due_ || !asked_;
    asked_ = true;
  }
  Lsn expected_{1};
  bool asked_ = false;
  bool lnak_due_ = false;
};

}  // namespace splitnic::fabric
