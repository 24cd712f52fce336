// Deficit round robin over queues that share one output: M. Shreedhar and G. Varghese, "Efficient
// Fair Queuing Using Deficit Round-Robin", IEEE/ACM Transactions on Networking 4(3), 1996. Each
// visit adds a quantum to the deficit of the queue, which may then send that many bytes; what a
// non-empty queue does not use it keeps. So queues share the output by bytes, whatever the length
// of their packets, at O(1) per packet.
//
// The queues belong to the caller, which may add and remove them at any time. A visit that ends
// because the output is blocked stays open: the next call continues it without another quantum.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splitnic::iou {

class DeficitRoundRobin {
 public:
  // Kept with each queue.
  class Deficit {
   public:
    std::size_t bytes() const { return bytes_; }

   private:
    friend class DeficitRoundRobin;
    std::size_t bytes_ = 0;
  };

  static constexpr std::size_t kUnlimited = SIZE_MAX;

  explicit constexpr DeficitRoundRobin(std::size_t quantum_bytes) : quantum_bytes_(quantum_bytes) {}

  // Returns the index of the queue to visit. REQUIRES queues > 0.
  std::size_t current(std::size_t queues) { return current_ %= queues; }
  // Opens or continues the visit to the current queue and returns how many bytes it may send. A
  // queue that does not share the output may send everything.
  std::size_t begin(Deficit& deficit, bool is_shared) {
    if (!is_open_) deficit.bytes_ += quantum_bytes_;
    is_open_ = true;
    return is_shared ? deficit.bytes_ : kUnlimited;
  }
  // The current queue has not used `left` of what begin() returned. A queue that did not share the
  // output keeps nothing, and its next visit is a new one.
  void end(Deficit& deficit, std::size_t left, bool is_shared) {
    deficit.bytes_ = is_shared ? left : 0;
    is_open_ = is_shared;
  }
  // An empty queue does not save its deficit for later.
  static void on_empty(Deficit& deficit) { deficit.bytes_ = 0; }
  // Closes the visit: the next queue is the current one.
  void advance() {
    ++current_;
    is_open_ = false;
  }

 private:
  const std::size_t quantum_bytes_;
  std::size_t current_ = 0;
  bool is_open_ = false;  // the current queue has received its quantum
};

}  // namespace splitnic::iou
