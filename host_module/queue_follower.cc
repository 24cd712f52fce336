#include "host_module/queue_follower.h"

#include "base/log.h"
#include "messaging/connection.h"

namespace splitnic::host {

std::string QueueFollower::label() const {
  return is_additional() ? "queue " + std::to_string(queue_) + ": " : "";
}

bool QueueFollower::is_unit_of_queue_zero(const fabric::Link& link) const {
  return link.peer_eui64() == queue_zero_.unit && link.peer_instance() == queue_zero_.instance;
}

bool QueueFollower::may_connect(const fabric::Link& link) const {
  return !is_additional() ||
         (queue_zero_.is_configured && queue_ < queue_zero_.queues && is_unit_of_queue_zero(link));
}

void QueueFollower::attach(bool is_wanted, lan::FramePort& port, base::Time now) {
  if (now >= reads_from_) reads_from_ = base::kNever;
  if (!is_additional() || is_wanted == is_attached_) return;
  if (auto done = port.attach_queue(is_wanted); !done) base::log_warn(done.error().text());
  is_attached_ = is_wanted;
  reads_from_ = is_wanted ? now + messaging::kQueueSettleFor : base::kNever;
}

}  // namespace splitnic::host
