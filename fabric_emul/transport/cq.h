// A completion queue: one point of notification for several queue pairs [S000-02]. A completion
// that finds the queue full is counted and its queue pair goes to ERR, so no loss is silent.
// Thread: the data thread.
#pragma once

#include <span>
#include <utility>

#include "base/memory_account.h"
#include "base/ring.h"
#include "fabric_emul/transport/wc.h"

namespace splitnic::fabric {

class CompletionQueue {
 public:
  // `charge` is that of its memory.
  explicit CompletionQueue(std::size_t depth, base::MemoryCharge charge = base::MemoryCharge())
      : entries_(depth), charge_(std::move(charge)) {}
  static constexpr std::size_t bytes_of(std::size_t depth) {
    return base::Ring<Wc>::bytes_of(depth);
  }

  // Returns false when there is no room.
  bool push(const Wc& wc) {
    if (entries_.full()) return false;
    entries_.push(wc);
    return true;
  }
  // Moves up to out.size() completions, oldest first, to `out`; returns how many.
  std::size_t poll(std::span<Wc> out) {
    std::size_t n = 0;
    while (n < out.size() && !entries_.empty()) {
      out[n++] = entries_.front();
      entries_.pop();
    }
    return n;
  }
  bool empty() const { return entries_.empty(); }
  std::size_t depth() const { return entries_.capacity(); }

 private:
  base::Ring<Wc> entries_;
  base::MemoryCharge charge_;
};

}  // namespace splitnic::fabric
