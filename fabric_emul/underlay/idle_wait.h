// How a data thread waits between two turns: base::IdleStrategy decides whether it sleeps,
// base::Poller does it. What is needed before a sleep is here, so that no loop forgets it: each
// underlay is asked by may_sleep() first, and one that says no makes the next turn follow at once.
// Thread: its owner, the data thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/idle_strategy.h"
#include "base/poller.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric {

class IdleWait {
 public:
  // What the last turn leaves behind.
  struct Iteration {
    bool made_progress = true;          // something: the next turn follows at once
    std::uint64_t bytes_processed = 0;  // so far, as base::IdleStrategy counts it
    bool wants_write = false;           // an underlay took not all: its room ends the wait too
    base::Time deadline{};              // when there is something to do by itself
  };

  // never_sleeps: as base::IdleStrategy says.
  explicit IdleWait(bool never_sleeps) : idle_(never_sleeps) {}

  // REQUIRES: it outlives this, and its input is taken in each turn.
  void add(Underlay& underlay) { underlays_.push_back({&underlay, poller_.add(underlay.fd())}); }
  // For whatever else ends the wait.
  base::Poller& poller() { return poller_; }
  const base::Poller& poller() const { return poller_; }

  // Returns when the next turn is due; the poller and has_room() then tell what is ready.
  void wait(base::Time now, const Iteration& turn) {
    for (const Watched& one : underlays_) poller_.want(one.which, true, turn.wants_write);
    base::IdleStrategy::Step step =
        idle_.after(turn.made_progress || turn.deadline <= now, turn.bytes_processed, now);
    if (step == base::IdleStrategy::Step::kSleep && !may_sleep())
      step = base::IdleStrategy::Step::kWork;
    poller_.wait(now, turn.deadline, step);
  }
  // One that wanted to write may try again. A shm wire tells of room as input.
  bool has_room() const {
    return std::ranges::any_of(underlays_, [this](const Watched& one) {
      return poller_.writable(one.which) || poller_.readable(one.which);
    });
  }

 private:
  struct Watched {
    Underlay* underlay;
    std::size_t which;  // of the poller
  };

  bool may_sleep() const {
    return std::ranges::all_of(underlays_,
                               [](const Watched& one) { return one.underlay->may_sleep(); });
  }

  base::Poller poller_;
  base::IdleStrategy idle_;
  std::vector<Watched> underlays_;
};

}  // namespace splitnic::fabric
