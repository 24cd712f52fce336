// A completion queue: one point of notification for several queue pairs [S000-02]. A completion
// that finds the queue full is counted and its queue pair goes to ERR, so no loss is silent.
//
// An owner that does not poll all the time arms the queue, which then calls its notifier once.
// Sans-I/O. Thread: the data thread.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "base/memory_account.h"
#include "base/ring.h"
#include "fabric_emul/transport/completion_notifier.h"
#include "fabric_emul/transport/wc.h"

namespace splitnic::fabric {

class CompletionQueue {
 public:
  // `charge` is that of its memory. `notifier` outlives the queue and knows it as `number`; a queue
  // without one cannot be armed.
  explicit CompletionQueue(std::size_t depth, base::MemoryCharge charge = base::MemoryCharge(),
                           CompletionNotifier* notifier = nullptr, CqId number = CqId())
      : entries_(depth), charge_(std::move(charge)), notifier_(notifier), number_(number) {}
  static constexpr std::size_t bytes_of(std::size_t depth) {
    return base::Ring<Wc>::bytes_of(depth);
  }

  // Returns false when there is no room.
  bool push(const Wc& wc) {
    if (entries_.full()) return refuse();
    entries_.push_slot() = wc;
    if (armed_for_) fire_if_due(wc);
    return true;
  }
  // Moves up to out.size() completions, oldest first, to `out`; returns how many.
  std::size_t poll(std::span<Wc> out) {
    std::size_t n = 0;
    while (n < out.size() && !entries_.empty()) {
      out[n++] = entries_.front();
      entries_.pop();
    }
    if (entries_.empty()) entries_.rewind();
    return n;
  }
  bool empty() const { return entries_.empty(); }
  std::size_t depth() const { return entries_.capacity(); }

  bool can_be_armed() const { return notifier_ != nullptr; }
  // Requests one notification, at the next completion that `events` names; the queue is armed until
  // then. If it is armed already, kNext replaces kSolicited and not the reverse. A completion that
  // is in the queue now does not fire: its owner arms, polls once more and only then waits
  // [S000-02]. One that finds no room fires like one with an error. REQUIRES can_be_armed().
  void arm(CqEvents events);

 private:
  void fire_if_due(const Wc& wc);
  void fire();
  bool refuse();

  base::Ring<Wc> entries_;
  base::MemoryCharge charge_;
  CompletionNotifier* notifier_;
  CqId number_;
  std::optional<CqEvents> armed_for_;
};

}  // namespace splitnic::fabric
