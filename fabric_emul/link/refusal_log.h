// Limits log lines about a refused link, at the end that refuses and at the one that is refused:
// one per reason until a link is up, because a client repeats HELLO indefinitely. A duplicate is
// mostly the same node's process before this one, and then ends in a moment: only one that lasts is
// logged. Time comes in; pure. [B-02]
#pragma once

#include <utility>

#include "base/clock.h"
#include "fabric_emul/wire/init.h"

namespace splitnic::fabric {

class RefusalLog {
 public:
  // The time for which a process that was started again may be refused as a duplicate of itself.
  static constexpr base::Duration kDuplicateFor = std::chrono::seconds(1);
  // Refusals that are further apart than this are two occasions. A client repeats HELLO sooner.
  static constexpr base::Duration kGapMax = std::chrono::seconds(5);

  RefusalLog() = default;

  // A link was refused. Returns true if that is to be logged.
  bool note(InitReason reason, base::Time now) {
    if (reason != reason_ || now - last_at_ > kGapMax) *this = RefusalLog(reason, now);
    last_at_ = now;
    const bool may_end_soon = reason == InitReason::kDuplicate && now - first_at_ < kDuplicateFor;
    return !may_end_soon && !std::exchange(is_logged_, true);
  }

 private:
  RefusalLog(InitReason reason, base::Time now) : reason_(reason), first_at_(now), last_at_(now) {}

  InitReason reason_ = InitReason::kNone;  // the last
  base::Time first_at_{};                  // of this reason, without a gap
  base::Time last_at_{};
  bool is_logged_ = false;
};

}  // namespace splitnic::fabric
