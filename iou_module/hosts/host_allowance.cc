#include "iou_module/hosts/host_allowance.h"

#include <string>

#include "iou_module/hosts/host_memory.h"

namespace splitnic::iou {

HostAllowance::HostAllowance(HostRights rights, std::uint32_t unit_queues,
                             std::uint64_t memory_usual, std::shared_ptr<HostLimits> limits)
    : unit_queues_(unit_queues),
      memory_usual_(memory_usual),
      rights_(std::move(rights)),
      memory_(memory_of_queue(rights_, memory_usual_, unit_queues_)),
      vlans_(rights_),
      limits_(limits != nullptr ? std::move(limits)
                                : std::make_shared<HostLimits>(rights_, unit_queues_)) {}

void HostAllowance::set_rights(HostRights rights) {
  rights_ = std::move(rights);
  memory_.set_limit(memory_of_queue(rights_, memory_usual_, unit_queues_));
  vlans_ = VlanLimit(rights_);
  limits_->meter.set_rights(rights_, unit_queues_);
}

base::Error HostAllowance::memory_error() const {
  if (memory_.refusals() == 0) {
    return base::Error("the I/O unit is short of memory, or of table entries");
  }
  return base::Error(
      "this host may use " + std::to_string(memory_.limit() >> 10) +
      " KiB of the I/O unit's memory for a queue, which a connection exceeds: raise memory in "
      "its hosts file, or use fewer queues");
}

}  // namespace splitnic::iou
