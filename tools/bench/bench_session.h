// One side of a session of `splitnic bench`: its queue pairs, the messages that it has posted and
// those that have arrived. The active side posts messages and takes the replies; the passive side
// replies. The adapter is driven by the owner. Thread: that of the adapter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/idle_strategy.h"
#include "base/status.h"
#include "fabric_emul/verbs/adapter.h"
#include "tools/bench/bench_queues.h"
#include "tools/bench/bench_service.h"
#include "tools/bench/message_mark.h"

namespace splitnic::bench {

class BenchSession {
 public:
  // `adapter` outlives this.
  BenchSession(fabric::Adapter& adapter, bool is_active)
      : adapter_(adapter), is_active_(is_active), queues_(adapter) {}
  BenchSession(const BenchSession&) = delete;
  BenchSession& operator=(const BenchSession&) = delete;

  BenchQueues& queues() { return queues_; }
  const BenchQueues& queues() const { return queues_; }
  // Its queue pairs are connected: completions count from now on.
  void on_connected() { is_connected_ = true; }
  bool is_connected() const { return is_connected_; }
  // The first failure stays until end(). Completions do not count behind it.
  void fail(const base::Error& why) {
    if (!has_failed()) why_ = why;
  }
  bool has_failed() const { return !why_.text().empty(); }
  const base::Error& why() const { return why_; }
  // Ends the queue pairs. Another session may begin.
  void end(base::Time now);

  // Active: posts one message of the run; with kReport an empty Send, which is no message.
  void post(Word word);
  // Active: messages in flight are given up.
  void write_off() { written_off_ = posted_; }
  // Returns whether there were any. Passive: replies are posted, not sent.
  bool take_completions();

  // As those of FabricEnd.
  std::size_t posted() const { return posted_; }
  std::size_t uncounted() const { return posted_ - replied_; }
  std::size_t arrived() const { return arrived_; }
  std::size_t open() const {
    const std::size_t queued = requested_ - sent_;
    if (is_reliable(queues_.what().service)) return queued;
    return std::max(queued, posted_ - std::max(replied_, written_off_));
  }
  bool is_replied() const {
    return has_response(queues_.what().op) ? requested_ == sent_ : replied_ == posted_;
  }
  // For base::IdleStrategy, as the two programs count frames.
  std::uint64_t bytes_processed() const {
    return (sent_ + received_) * (queues_.what().bytes + base::IdleStrategy::kFrameOverheadBytes);
  }

 private:
  void on_completion(const fabric::Wc& wc);
  void take_message(const fabric::Wc& wc);
  void on_reply(const MessageMark& mark);

  fabric::Adapter& adapter_;
  const bool is_active_;
  BenchQueues queues_;
  base::Error why_;  // without a text: nothing has failed
  bool is_connected_ = false;
  // Requested: messages and reports; sent: those of them that are complete.
  std::size_t posted_ = 0, requested_ = 0, sent_ = 0, received_ = 0;
  std::size_t replied_ = 0, written_off_ = 0;  // the number of a message, as of posted_
  std::size_t arrived_ = 0;
};

}  // namespace splitnic::bench
