// The rights of one host at the I/O unit: which addresses and VLANs it may use, what it may receive
// and send, and how much. They come from the hosts file (docs/hosts_file.md), or from the command
// line for a host that is in no file. Plain values; a reload replaces them as a whole.
// [H-1] [H-2] [M-1] [M-3] [M-4]
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/config/ip_address.h"
#include "fabric_emul/verbs/verbs.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/vlan_id.h"
#include "messaging/connection.h"

namespace splitnic::iou {

// Of VLAN ids from 0, which is an untagged frame or one with a priority tag.
using VlanSet = std::bitset<lan::kVlanIdMax + 1>;

struct HostRights {
  // The name in logs, statistics and `show`. Empty: the one that the host states.
  std::string name{};
  // NICs of the unit that it may use. Empty: all.
  std::vector<std::uint32_t> nics{};
  // Partitions in which it may connect, limited member or full. Empty: all of the unit.
  std::vector<fabric::PartitionKey> partitions{};
  // Addresses that only this host may have.
  std::vector<lan::MacAddress> macs{};
  // The number of other unicast addresses that it may have at once, its MAC included. The LAN and
  // other hosts must not use them.
  std::uint32_t mac_count = 4;
  // VLANs that its frames may be of, in both directions. Absent: the pvid alone, and without one
  // all.
  std::optional<VlanSet> vlans{};
  // The access VLAN that it cannot change. Absent: it may set one of its VLANs; 0: none.
  std::optional<std::uint16_t> pvid{};
  bool may_sniff = false;  // promiscuous mode: it receives the frames of all others
  bool may_forge = false;  // it sends from any source address, as a bridge does
  // Service level of the data that the unit sends to it. Absent: that of the unit.
  std::optional<std::uint8_t> sl{};
  // Queues, at least 1.
  std::uint32_t queues_max = messaging::kQueuesMax;
  // Memory that the unit uses for it, in bytes, over all queues. Absent: as default_memory().
  std::optional<std::uint64_t> memory_max{};
  // Per second, to the LAN and to other hosts. 0: no limit.
  std::uint64_t bits_per_second = 0;
  std::uint64_t frames_per_second = 0;
  // Broadcast and multicast frames per second; copies for other hosts are not counted again.
  std::uint64_t group_frames_per_second = 10000;
  // Source addresses of its datagrams. Empty: all.
  std::vector<control::Cidr> from{};

  bool may_use(fabric::PartitionKey partition) const {
    return partitions.empty() || std::ranges::any_of(partitions, [&](fabric::PartitionKey key) {
             return fabric::number_of(key) == fabric::number_of(partition);
           });
  }
  friend bool operator==(const HostRights&, const HostRights&) = default;
};

}  // namespace splitnic::iou
