// The identity of an attached host: the process of a node, which does not change, and the name
// under which people find it in the log. The name is that of the hosts file, else the one that the
// host states; and behind that its EUI-64 if it is the name of another host of the hosts file, so
// that nobody appears as one of them. host_label.h has the names of counters. Thread: the data
// thread. [L-7]
#pragma once

#include <string>

#include "iou_module/hosts/host_process.h"
#include "iou_module/hosts/host_rights.h"

namespace splitnic::iou {

class HostIdentity {
 public:
  // `rights` and `stated_name` outlive it. Both may change: a reload of the hosts file replaces the
  // rights, and the stated name is known from the CONNECT_REQ on.
  HostIdentity(const HostProcess& process, const HostRights& rights, const std::string& stated_name)
      : process_(process), rights_(rights), stated_name_(stated_name) {}

  const HostProcess& process() const { return process_; }
  const HostId& node() const { return process_.node; }
  const std::string& name() const {
    if (!rights_.name.empty()) return rights_.name;
    return states_name_of_another() ? name_with_node_ : stated_name_;
  }
  const std::string& stated_name() const { return stated_name_; }
  bool states_name_of_another() const { return !name_with_node_.empty(); }
  // The hosts file gives the stated name to another host, or does not any more.
  void set_states_name_of_another(bool is_of_another);

 private:
  const HostProcess process_;
  const HostRights& rights_;
  const std::string& stated_name_;
  std::string name_with_node_;  // "": the stated name is of no other host
};

}  // namespace splitnic::iou
