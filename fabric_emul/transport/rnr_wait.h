// The wait after the peer reported that it has no receive posted (RNR), and how often the oldest
// message has met one. Pure: time comes in with every call.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "fabric_emul/transport/qp_attr.h"

namespace splitnic::fabric {

class RnrWait {
 public:
  bool is_active(base::Time now) const { return now < until_; }
  // Returns false when the tries are used up.
  bool begin(base::Duration wait, base::Time now, std::uint8_t rnr_retry) {
    if (rnr_retry < kRnrRetryForever && tries_++ >= rnr_retry) return false;
    until_ = now + wait;
    return true;
  }
  // Its end; base::Time{} after on_time() has seen it pass.
  base::Time until() const { return until_; }
  void on_time(base::Time now) {
    if (!is_active(now)) until_ = base::Time{};
  }
  // A message has arrived.
  void on_progress() { tries_ = 0; }
  void reset() { *this = RnrWait{}; }

 private:
  base::Time until_{};
  unsigned tries_ = 0;
};

}  // namespace splitnic::fabric
