#include "fabric_emul/subnet/staged_policy.h"

#include <algorithm>

#include "base/crc32c.h"

namespace splitnic::fabric {

SmpStatus StagedPolicy::take(const SmpPolicy& part) {
  if (check_ != part.check || bytes_.size() != part.count || is_complete_) {
    *this = {};
    check_ = part.check;
    bytes_.resize(part.count);
  }
  std::ranges::copy(part.data, bytes_.begin() + part.first);
  has_.set(part.first / kSmpPolicyPartBytes);
  if (has_.count() != policy_parts(bytes_.size())) return SmpStatus::kDone;
  if (base::crc32c(bytes_) != check_) {
    *this = {};
    return SmpStatus::kStale;
  }
  is_complete_ = true;
  return SmpStatus::kDone;
}

}  // namespace splitnic::fabric
