// The posted receives of one queue pair, in the order in which packets take them. All services have
// the same: RC, UC, UD and RD (responder.h) and STREAM (fabric_emul/stream/stream_receiver.h).
// Thread: the data thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ring.h"
#include "base/status.h"
#include "fabric_emul/transport/wc.h"
#include "fabric_emul/transport/work_request.h"

namespace splitnic::fabric {

struct RecvWqe {
  std::uint64_t wr_id = 0;
  SgeList scatter;
};

class ReceiveQueue {
 public:
  // REQUIRES depth >= 1.
  explicit ReceiveQueue(std::size_t depth) : ring_(depth) {}
  static constexpr std::size_t bytes_of(std::size_t depth) {
    return base::Ring<RecvWqe>::bytes_of(depth);
  }

  // Returns ENOMEM when the queue is full, EINVAL for more than kSgeMax pieces; then nothing has
  // changed.
  base::Status post(const RecvWr& wr);
  bool empty() const { return ring_.empty(); }
  std::size_t size() const { return ring_.size(); }
  // REQUIRES !empty().
  const RecvWqe& front() { return ring_.front(); }
  void pop() { ring_.pop(); }
  // Takes out the oldest for a message that arrives in parts; its place stays. commit() or abort()
  // follows. REQUIRES !empty().
  RecvWqe claim() {
    const RecvWqe oldest = ring_.front();
    ring_.pop();
    ++claimed_;
    return oldest;
  }
  // The message has completed a claimed receive.
  void commit() { --claimed_; }
  // It has not: that is the oldest once more.
  void abort(const RecvWqe& receive) {
    --claimed_;
    ring_.push_front(receive);
  }
  // The number of receives, as an ACK states it.
  std::uint16_t credits() const {
    return static_cast<std::uint16_t>(std::min<std::size_t>(ring_.size(), 0xFFFF));
  }
  // Empties the queue, and calls `complete` with the completion of each receive.
  template <class Complete>
  void flush(Complete&& complete) {
    while (!ring_.empty()) {
      Wc wc;
      wc.wr_id = ring_.front().wr_id;
      wc.status = WcStatus::kFlushed;
      wc.op = WcOp::kReceive;
      ring_.pop();
      complete(wc);
    }
  }

 private:
  base::Ring<RecvWqe> ring_;
  std::size_t claimed_ = 0;
};

}  // namespace splitnic::fabric
