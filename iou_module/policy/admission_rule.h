// The rule by which the I/O unit admits or refuses a host, checked for each CONNECT_REQ. Thread:
// the data thread.
#pragma once

#include "base/status.h"
#include "fabric_emul/verbs/adapter.h"

namespace splitnic::iou {

class AdmissionRule {
 public:
  virtual ~AdmissionRule() = default;
  // Returns an error, with the reason for the host, if the host at the other end of this link may
  // not attach now.
  virtual base::Status check_admission(const fabric::Link& link) const = 0;
};

}  // namespace splitnic::iou
