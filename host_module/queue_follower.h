// An additional queue of a host follows queue 0, which owns the interface: it connects when queue 0
// is configured, to the same process, and the kernel gives it frames only while it can carry them.
// Of queue 0 itself all of this is always so. Pure but for the port.
// docs/adr/0006-a-queue-is-whole.md Thread: the data thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "fabric_emul/verbs/adapter.h"
#include "host_module/queue_zero.h"
#include "lan_bridge/frame_port.h"

namespace splitnic::host {

class QueueFollower {
 public:
  explicit QueueFollower(std::uint32_t queue) : queue_(queue), is_attached_(queue == 0) {}

  bool is_additional() const { return queue_ > 0; }
  // For log lines: "" or "queue 1: ".
  std::string label() const;
  void follow(const QueueZero& state) { queue_zero_ = state; }
  // Whether the other end of the link is the process that queue 0 is connected to.
  bool is_unit_of_queue_zero(const fabric::Link& link) const;
  // Whether the I/O unit has this queue, and queue 0 is configured there.
  bool may_connect(const fabric::Link& link) const;
  // Attaches the queue of the interface, or detaches it.
  void attach(bool is_wanted, lan::FramePort& port, base::Time now);
  bool is_attached() const { return is_attached_; }
  // Whether frames may be read: not for messaging::kQueueSettleFor after it was attached.
  bool may_read() const { return is_attached_ && reads_from_ == base::kNever; }
  // Returns when attach() must be called again.
  base::Time deadline() const { return reads_from_; }

 private:
  const std::uint32_t queue_;
  QueueZero queue_zero_;
  bool is_attached_;
  base::Time reads_from_ = base::kNever;  // kNever: it reads now
};

}  // namespace splitnic::host
