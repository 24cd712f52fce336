// The failures of one send queue: which work request has failed, with which status it completes,
// and what ends with it. A failure in order takes effect when the work requests before it are
// complete. One that ends the queue pair or its send queue at once is blamed on its work request,
// which completes with that status in the flush. Work requests have their numbers of SendQueue.
// Thread: the data thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "fabric_emul/transport/qp_context.h"
#include "fabric_emul/transport/wc.h"

namespace splitnic::fabric {

// A work request that failed.
struct SendFailure {
  std::uint64_t no = 0;
  WcStatus status = WcStatus::kSuccess;
  bool drains = false;  // the send queue drains and the queue pair stays usable
};

class SendFailures {
 public:
  // Faults are set in `context`, which outlives this object.
  explicit SendFailures(QpContext& context) : context_(context) {}

  // In order: those before `no` still complete normally. Of several failures that of the oldest
  // work request holds.
  void fail_at(std::uint64_t no, WcStatus status);
  // The same, but the send queue drains [S002-32]. It replaces a failure that is pending.
  void drain_at(std::uint64_t no, WcStatus status);

  // At once: `no` is to blame for the end of the queue pair.
  void end_queue_pair(std::uint64_t no, WcStatus status);
  // For the end of the send queue.
  void end_send_queue(std::uint64_t no, WcStatus status);
  // The local memory of `no` failed its checks: ends what the service allows [S002-19].
  void fail_local_access(std::uint64_t no);

  // A failure in order has not taken effect.
  bool is_pending() const { return ending_.has_value(); }
  // It has `no` or one before it, so `no` sends nothing any more.
  bool stops(std::uint64_t no) const { return ending_ && no >= ending_->no; }
  // It takes effect now that `head` is the oldest work request.
  bool is_due(std::uint64_t head) const { return ending_ && ending_->no == head; }
  // Returns it, and it is pending no longer. REQUIRES is_pending().
  SendFailure take() { return *std::exchange(ending_, {}); }

  // Returns the status with which `no` completes in a flush.
  WcStatus flushed_status(std::uint64_t no) const;
  // The flush is over.
  void clear();

 private:
  QpContext& context_;
  std::optional<SendFailure> ending_;  // in order
  std::optional<SendFailure> blamed_;  // at once
};

}  // namespace splitnic::fabric
