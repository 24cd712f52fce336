// The rights of a host in one short line, for `splitnic peers` and the log: what differs from the
// defaults, and of lists that may be long only the number. Pure.
#pragma once

#include <string>

#include "iou_module/hosts/host_rights.h"

namespace splitnic::iou {

// "nic=0 macs=1 mac_count=1 pvid=100 sniff memory=64M"; "default" if nothing differs.
std::string rights_text(const HostRights& rights);

}  // namespace splitnic::iou
