#include "host_module/silence_watch.h"

#include <algorithm>

namespace splitnic::host {

SilenceWatch::Step SilenceWatch::step(const Facts& facts, base::Time now) {
  expire(now);
  if (facts.heard != heard_) note_reply(facts.heard);
  if (!facts.other_heard || (probes_ == 0 && !facts.has_traffic)) {
    restart();
    return Step::kNone;
  }
  if (probes_ == 0) due_ = heard_ + kQuietMax;
  if (now < due_) return Step::kNone;
  if (now > due_ + kLate) {
    missed_ = 0;
  } else if (probes_ > 1 && *facts.other_heard >= last_probe_at_) {
    ++missed_;
  }
  if (missed_ >= rounds_needed()) {
    restart();
    return Step::kSilent;
  }
  if (probes_ == 0) first_probe_at_ = now;
  last_probe_at_ = now;
  due_ = now + kRound;
  return ++probes_ == 1 ? Step::kProbe : Step::kProbeBoth;
}

void SilenceWatch::restart() {
  probes_ = missed_ = 0;
  due_ = base::kNever;
}

bool SilenceWatch::on_return(base::Time left_at, base::Time heard) {
  if (heard - left_at > kPauseMax) return false;
  rounds_ = std::min(2 * rounds_, kMissedMax);
  calm_at_ = heard + kCalmAfter;
  return true;
}

// The unit in use is heard, or it is another one.
void SilenceWatch::note_reply(base::Time heard) {
  if (probes_ > 0 && heard > first_probe_at_) {
    reply_time_of_period_ = std::max(reply_time_of_period_, heard - first_probe_at_);
    reply_time_ = std::max(reply_time_, reply_time_of_period_);
    if (period_end_ == base::kNever) period_end_ = heard + kReplyPeriod;
  }
  heard_ = heard;
  restart();
}

void SilenceWatch::expire(base::Time now) {
  if (now >= calm_at_) {
    rounds_ = kMissedMin;
    calm_at_ = base::kNever;
  }
  if (now < period_end_) return;
  const bool is_next = now - period_end_ < kReplyPeriod;
  reply_time_ = is_next ? reply_time_of_period_ : base::Duration{};
  period_end_ = reply_time_ > base::Duration{} ? period_end_ + kReplyPeriod : base::kNever;
  reply_time_of_period_ = {};
}

unsigned SilenceWatch::rounds_needed() const {
  const auto of_reply = static_cast<unsigned>(2 * reply_time_ / kRound) + 1;
  return std::clamp(of_reply, rounds_, kMissedMax);
}

}  // namespace splitnic::host
