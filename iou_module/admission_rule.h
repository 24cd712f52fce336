// Who may attach, as the I/O unit checks it for each CONNECT_REQ. Thread: the data thread.
#pragma once

#include <optional>
#include <string>

#include "fabric_emul/verbs/adapter.h"

namespace splitnic::iou {

class AdmissionRule {
 public:
  virtual ~AdmissionRule() = default;
  // Returns why the host at the other end of this link may not attach now, or nothing.
  virtual std::optional<std::string> refusal_of(const fabric::Link& link) const = 0;
};

}  // namespace splitnic::iou
