// The wait of a data thread between two loop iterations: base::IdleStrategy decides whether it
// sleeps, base::Poller waits. It sleeps in place of spinning where the last batch came in on this
// processor: a peer on this machine may need it. Before a sleep may_sleep() of each underlay is
// called here, so that no loop forgets it; one that returns false makes the next iteration follow
// at once. Thread: its owner, the data thread.
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
  // Results of the last loop iteration.
  struct Iteration {
    bool made_progress = true;          // the next iteration follows at once
    std::uint64_t bytes_processed = 0;  // in total, as base::IdleStrategy counts it
    bool wants_write = false;           // an underlay is blocked: room ends the wait, too
    base::Time deadline{};              // of the earliest timer
  };

  // never_sleeps: as for base::IdleStrategy.
  explicit IdleWait(bool never_sleeps) : never_sleeps_(never_sleeps), idle_(never_sleeps) {}

  // REQUIRES that the underlay outlives this.
  void add(Underlay& underlay) { underlays_.push_back({&underlay, poller_.add(underlay.fd())}); }
  // Whether the next iteration takes the input of an underlay, by the order of add(): without a
  // call it does. What the others hold does not end a wait.
  void set_read(std::size_t index, bool is_read) {
    underlays_[index].is_read = is_read;
    poller_.watch(underlays_[index].which, is_read);
  }
  // The poller, for other descriptors that end the wait.
  base::Poller& poller() { return poller_; }
  const base::Poller& poller() const { return poller_; }

  // Returns when the next iteration is due; the poller and has_room() then report what is ready.
  void wait(base::Time now, const Iteration& last) {
    for (const Watched& one : underlays_) poller_.want(one.which, true, last.wants_write);
    base::IdleStrategy::Step step =
        idle_.after(last.made_progress || last.deadline <= now, last.bytes_processed, now);
    if (step == base::IdleStrategy::Step::kSpin && !never_sleeps_ && is_peers_cpu())
      step = base::IdleStrategy::Step::kSleep;
    if (step == base::IdleStrategy::Step::kSleep && !may_sleep())
      step = base::IdleStrategy::Step::kWork;
    poller_.wait(now, last.deadline, step);
  }
  // Returns true if a blocked send may be retried. A shm wire reports room as input.
  bool has_room() const {
    return std::ranges::any_of(underlays_, [this](const Watched& one) {
      return poller_.writable(one.which) || poller_.readable(one.which);
    });
  }

 private:
  struct Watched {
    Underlay* underlay;
    std::size_t which;  // of the poller
    bool is_read = true;
  };

  bool is_peers_cpu() const {
    return std::ranges::any_of(
        underlays_, [](const Watched& one) { return one.underlay->came_in_on_this_cpu(); });
  }
  bool may_sleep() const {
    return std::ranges::all_of(
        underlays_, [](const Watched& one) { return !one.is_read || one.underlay->may_sleep(); });
  }

  const bool never_sleeps_;
  base::Poller poller_;
  base::IdleStrategy idle_;
  std::vector<Watched> underlays_;
};

}  // namespace splitnic::fabric
