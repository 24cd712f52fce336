// Keep-alive of one link: an IDLE flit after `idle` without sending, silence after `missing_max`
// intervals and a half without receiving. Pure: the time comes in. docs/protocol/flit.md
#pragma once

#include "base/clock.h"

namespace splitnic::fabric {

class KeepAlive {
 public:
  KeepAlive(base::Duration idle, unsigned missing_max)
      : idle_(idle), silence_max_(idle * missing_max + idle / 2) {}

  void start(base::Time now) { last_sent_ = last_heard_ = now; }
  void on_sent(base::Time now) { last_sent_ = now; }
  void on_heard(base::Time now) { last_heard_ = now; }

  base::Time last_heard() const { return last_heard_; }
  base::Time idle_at() const { return last_sent_ + idle_; }
  base::Time silent_at() const { return last_heard_ + silence_max_; }
  // A peer that is alive has been heard by then, although one IDLE was lost.
  base::Time missing_at() const { return last_heard_ + 2 * idle_ + idle_ / 2; }
  // A client's: the silent peer may be a new instance, which accepts only HELLO.
  base::Time doubt_at() const { return last_heard_ + 2 * idle_; }

 private:
  base::Duration idle_;
  base::Duration silence_max_;
  base::Time last_sent_{};
  base::Time last_heard_{};
};

}  // namespace splitnic::fabric
