// The time of a target in this process, with a manual clock: it passes when neither the target nor
// the suite has anything to do.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "fabric_emul/underlay/in_process_underlay.h"

namespace splitnic::conformance {

// Calls `step` of the target, which returns whether it made progress, until something arrived for
// the suite at its `end`.
template <class Step>
void run_target(const fabric::InProcessUnderlay& end, base::ManualClock& clock, base::Time until,
                const Step& step) {
  constexpr base::Duration kStep = std::chrono::milliseconds(1);
  constexpr int kStepsMax = 1000;
  for (int i = 0; end.queued_batches() == 0 && clock.now() < until; ++i) {
    if (step(clock.now()) && i < kStepsMax) continue;
    if (end.queued_batches() > 0) return;
    i = 0;
    clock.set(std::min<base::Time>(until, clock.now() + kStep));
  }
}

}  // namespace splitnic::conformance
