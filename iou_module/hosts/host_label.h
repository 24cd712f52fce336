// The names of hosts for people, each that of one host. A host has the name that the hosts file
// gives it, else the one that it states; and behind that its EUI-64 while the name alone would be
// that of another host, too. A name has no '#', so none is a name with an EUI-64. Thread: the data
// thread. [L-7] docs/hosts_file.md
#pragma once

#include <string>
#include <vector>

#include "iou_module/hosts/host_id.h"

namespace splitnic::iou {

class AttachedHost;

// Returns "NAME#EUI64".
std::string name_with_node(const std::string& name, const HostId& node);

// Returns the name of a host in counters and in `show`, which no other one of `all` has: the hosts
// of the unit. Only two processes of one host share theirs. One of the hosts file keeps its name,
// whatever others state; of several others that state one name each has its EUI-64 behind it.
std::string label_of(const AttachedHost& host, const std::vector<AttachedHost*>& all);

}  // namespace splitnic::iou
