// The work of work requests that send nothing: binds, unbinds, delays and registrations of memory.
// Each runs when the send queue reaches it, so what is posted behind it finds it done [S000-06]
// [S000-07]. A registration gives its key when it is posted and makes the region when it runs
// [S002-30 to S002-34]. The order of push() and reserve() is the order of posts.
// Invariant: every reserved key either becomes a region or is returned to the table.
// Thread: the data thread.
#pragma once

#include <deque>
#include <optional>

#include "base/status.h"
#include "fabric_emul/transport/qp_context.h"
#include "fabric_emul/transport/wc.h"
#include "fabric_emul/transport/work_request.h"

namespace splitnic::fabric {

class LocalOperations {
 public:
  enum class Step : std::uint8_t { kDone, kWaiting, kFailed };

  explicit LocalOperations(QpContext& context) : context_(context) {}
  ~LocalOperations() { forget(); }
  LocalOperations(const LocalOperations&) = delete;
  LocalOperations& operator=(const LocalOperations&) = delete;

  // Refused: data in a work request that sends nothing, or a negative delay.
  static base::Status check(const SendWr& wr);
  void push(const LocalWork& work) { work_.push_back(work); }
  // Runs the oldest pushed work, a bind, unbind or delay.
  Step run(WrOp op, base::Time now);
  bool is_delaying() const { return delay_until_ != base::kNever; }
  // Returns when on_time() is to be called. A delay that is over waits for run(), which a link that
  // is down or cells that are lost may hold up: there is nothing to do at a time then.
  base::Time deadline() const { return is_delay_over_ ? base::kNever : delay_until_; }
  void on_time(base::Time now) { is_delay_over_ = is_delaying() && now >= delay_until_; }

  // Reserves the key of a region that `wr` registers, and returns what the region will be. Refused:
  // as a registration is, no table entry is left, or the message has no room at region_at.
  base::Result<VaMh> reserve(const SendWr& wr, const NewRegion& region);
  // The post of the newest reservation was refused.
  void cancel_newest();
  // Makes the region of the oldest reservation; returns the status of its failure, or none.
  std::optional<WcStatus> make_region();
  // The key of the registration that ran last.
  MemoryHandle last_key() const { return last_key_; }

  // Drops everything that has not run.
  void forget();

 private:
  struct Registration {
    MemoryHandle handle;
    NewRegion region;
  };

  QpContext& context_;
  std::deque<LocalWork> work_;
  std::deque<Registration> registrations_;
  MemoryHandle last_key_{};
  base::Time delay_until_ = base::kNever;
  bool is_delay_over_ = false;
};

// Writes address, key and length of `region` over the bytes [at, at + 16) of a message; `body` is
// the part of the message that begins at `offset` [S002-34].
void announce_region(const VaMh& region, std::uint64_t at, std::uint64_t offset,
                     base::MutableBytes body);

}  // namespace splitnic::fabric
