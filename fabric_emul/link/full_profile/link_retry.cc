#include "fabric_emul/link/full_profile/link_retry.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace splitnic::fabric {
namespace {

constexpr base::Duration kTimeoutMax = std::chrono::milliseconds(200);
constexpr std::size_t kRoomMin = 32;

}  // namespace

RetrySender::RetrySender(std::size_t window, std::size_t flit_payload_max,
                         base::Duration timeout_min, base::Duration first_timeout,
                         unsigned failures_max)
    : window_(std::bit_ceil(window)),
      payload_max_(flit_payload_max),
      timeout_min_(timeout_min),
      failures_max_(failures_max),
      store_(window_ * flit_payload_max),
      headers_(window_),
      room_(window_),
      timeout_(first_timeout) {
  CHECK(window_ <= kLsnWindowMax / 2);
}

void RetrySender::start(Lsn first) {
  first_ = next_ = resend_ = first;
  refused_ = first - 1U;
  failures_ = 0;
  is_timing_ = times_resend_ = timed_out_ = is_probing_ = false;
}

base::MutableBytes RetrySender::room() {
  CHECK(!full());
  return {slot(next_), payload_max_};
}

RetrySender::Kept RetrySender::push(base::Time now, FlitHeader flit, std::size_t payload_bytes) {
  CHECK(!full() && !has_resend());
  if (empty()) progress_ = now;
  flit.lsn = next_;
  header(next_) = flit;
  header(next_).size = static_cast<std::uint16_t>(payload_bytes);
  const Kept kept{header(next_), {slot(next_), payload_bytes}};
  if (!is_timing_) {
    is_timing_ = true;
    timed_ = next_;
    timed_at_ = now;
  }
  ++next_;
  resend_ = next_;
  return kept;
}

RetrySender::Kept RetrySender::resend(base::Time now) {
  CHECK(has_resend());
  if (resend_ == first_) progress_ = now;
  if (resend_ == first_ && times_resend_) {
    is_timing_ = true;
    times_resend_ = false;
    timed_ = first_;
    timed_at_ = now;
  }
  const Kept kept{header(resend_), {slot(resend_), header(resend_).size}};
  ++resend_;
  return kept;
}

bool RetrySender::on_ack(base::Time now, Lsn ack) {
  const Lsn next_first = ack + 1U;
  const std::int32_t gained = next_first - first_;
  if (gained <= 0) return gained > -static_cast<std::int32_t>(window_) - 1;  // an older one
  if (gained > next_ - first_) return false;
  room_ = std::min(window_, room_ + static_cast<std::size_t>(gained));
  first_ = next_first;
  if (before(resend_, first_)) resend_ = first_;
  failures_ = 0;
  progress_ = now;
  // Perhaps no flit was lost and the time-out is too short: it is longer until the next
  // measurement (RFC 6298, 5.5).
  if (timed_out_) timeout_ = std::min(2 * timeout_, std::max(timeout_min_, kTimeoutMax));
  timed_out_ = is_probing_ = false;
  if (is_timing_ && before(timed_, first_)) measure(now);
  return true;
}

// RFC 6298, section 2.
void RetrySender::measure(base::Time now) {
  is_timing_ = false;
  const base::Duration sample = now - timed_at_;
  if (srtt_ == base::Duration{0}) {
    srtt_ = sample;
    rttvar_ = sample / 2;
  } else {
    const base::Duration off = sample > srtt_ ? sample - srtt_ : srtt_ - sample;
    rttvar_ += (off - rttvar_) / 4;
    srtt_ += (sample - srtt_) / 8;
  }
  timeout_ = std::clamp(srtt_ + 4 * rttvar_, timeout_min_, std::max(timeout_min_, kTimeoutMax));
}

bool RetrySender::on_lnak(base::Time now, Lsn ack) {
  if (!on_ack(now, ack)) return false;
  // An LNAK that newer acknowledgements overtook requests nothing.
  if (ack + 1U != first_ || empty() || refused_ == first_) return true;
  refused_ = first_;
  go_back(now, true);
  return true;
}

void RetrySender::on_time(base::Time now) {
  if (now >= deadline()) go_back(now, false);
}

void RetrySender::go_back(base::Time now, bool is_requested) {
  ++failures_;
  room_ = std::max(room_ / 2, std::min(window_, kRoomMin));
  is_timing_ = false;
  times_resend_ = is_requested;
  is_probing_ = timed_out_ && !is_requested;
  timed_out_ = timed_out_ || !is_requested;
  resend_ = first_;
  progress_ = now;
}

RetryReceiver::Verdict RetryReceiver::on_data(Lsn lsn) {
  if (lsn == expected_) {
    ++expected_;
    requested_ = lnak_due_ = false;
    return Verdict::kTake;
  }
  if (before(lsn, expected_)) return Verdict::kRepeated;
  request();
  return Verdict::kGap;
}

}  // namespace splitnic::fabric
