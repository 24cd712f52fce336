// The settings of the remote NIC that have no place on the interface: what the user of the host has
// requested with `splitnic vlan`, `ethtool`, `filter` and `qos`. Each connection gets them. Plain
// state. docs/nic_service.md#settings-of-the-hosts-user Thread: its owner.
#pragma once

#include <cstdint>

#include "host_module/user_filter.h"
#include "host_module/user_setting.h"
#include "host_module/vlan_sync.h"
#include "messaging/cfgutil/nic_state.h"

namespace splitnic::host {

struct UserSettings {
  VlanSync vlans{};                     // with the access VLAN
  UserSetting<std::uint32_t> queues{};  // at queue 0; 0: all
  UserSetting<messaging::Coalescing> coalescing{};
  UserSetting<messaging::QosMap> qos{};
  UserFilter filter{};             // NicConfig::on_filter() sets it
  std::uint32_t offloads_off = 0;  // NicConfig::set_offloads_off() sets it

  // A connection begins, or the NIC was reset: the I/O unit may have anything.
  void begin() {
    vlans.begin();
    queues.begin();
    coalescing.begin();
    qos.begin();
  }
};

}  // namespace splitnic::host
