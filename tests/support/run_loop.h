// The loop of a harness that has its own time: iterations until something holds.
#pragma once

#include <chrono>
#include <functional>

#include "base/clock.h"

namespace splitnic::support {

// Base of a `Harness` with now() and step(until): one iteration of all that it joins, after which
// time has advanced, to `until` at most.
template <class Harness>
class RunLoop {
 public:
  // Returns false if it does not hold within `limit`.
  bool run_until(const std::function<bool()>& done,
                 base::Duration limit = std::chrono::seconds(20)) {
    auto& harness = static_cast<Harness&>(*this);
    const base::Time until = harness.now() + limit;
    while (!done()) {
      if (harness.now() >= until) return false;
      harness.step(until);
    }
    return true;
  }
  void run_for(base::Duration duration) {
    static_cast<void>(run_until([] { return false; }, duration));
  }
};

}  // namespace splitnic::support
