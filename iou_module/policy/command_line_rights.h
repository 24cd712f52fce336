// The rights of a host that is in no hosts file. With --max-hosts 1 there is nobody whom a host can
// harm, so it may do all that a machine with the card may do; else --grant gives all hosts what
// they need to be bridges or to capture. docs/nic_service.md#rights [H-2]
#pragma once

#include "iou_module/hosts/host_rights.h"
#include "iou_module/hosts/nic_settings.h"
#include "iou_module/policy/iou_options.h"

namespace splitnic::iou {

inline HostRights command_line_rights(const IouOptions& options) {
  HostRights rights;
  const bool is_alone = options.max_hosts == 1;
  rights.may_sniff = is_alone || options.grants_sniff;
  rights.may_forge = is_alone || options.grants_forge;
  if (is_alone) {
    rights.group_frames_per_second = 0;
    rights.mac_count = Filter::kEntriesMax;
  }
  return rights;
}

}  // namespace splitnic::iou
