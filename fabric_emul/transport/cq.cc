// The part of a completion queue that only an armed one needs.
#include "fabric_emul/transport/cq.h"

#include "base/check.h"

namespace splitnic::fabric {

void CompletionQueue::arm(CqEvents events) {
  CHECK(can_be_armed());
  if (!armed_for_ || events == CqEvents::kNext) armed_for_ = events;
}

void CompletionQueue::fire_if_due(const Wc& wc) {
  const bool is_error = wc.status != WcStatus::kSuccess;
  if (armed_for_ == CqEvents::kNext || wc.is_solicited || is_error) fire();
}

void CompletionQueue::fire() {
  armed_for_.reset();
  notifier_->on_completion(number_);
}

// An owner that waits for a solicited completion would not notice that one is lost.
bool CompletionQueue::refuse() {
  if (armed_for_) fire();
  return false;
}

}  // namespace splitnic::fabric
