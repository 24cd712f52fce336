#include "fabric_emul/transport/send_failures.h"

#include "fabric_emul/transport/service.h"

namespace splitnic::fabric {

void SendFailures::fail_at(std::uint64_t no, WcStatus status) {
  if (!ending_ || no < ending_->no) ending_ = SendFailure{no, status};
}

void SendFailures::drain_at(std::uint64_t no, WcStatus status) {
  ending_ = SendFailure{no, status, true};
  context_.has_drain_fault = true;
}

void SendFailures::end_queue_pair(std::uint64_t no, WcStatus status) {
  blamed_ = SendFailure{no, status};
  context_.fault = status;
}

void SendFailures::end_send_queue(std::uint64_t no, WcStatus status) {
  blamed_ = SendFailure{no, status};
  context_.has_send_fault = true;
}

void SendFailures::fail_local_access(std::uint64_t no) {
  if (has_own_sequence(context_.service)) {
    end_queue_pair(no, WcStatus::kLocalProtection);
  } else {
    end_send_queue(no, WcStatus::kLocalProtection);
  }
}

WcStatus SendFailures::flushed_status(std::uint64_t no) const {
  return blamed_ && blamed_->no == no ? blamed_->status : WcStatus::kFlushed;
}

void SendFailures::clear() {
  ending_.reset();
  blamed_.reset();
}

}  // namespace splitnic::fabric
