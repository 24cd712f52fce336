// The settings of one host on its NIC, made with CfgUtil, and which frames they let pass. They
// outlive the host's connection for a while (iou_module/nic/parked_settings.h). Thread: the data
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "iou_module/hosts/vlan_rules.h"
#include "lan_bridge/frame/ethernet.h"
#include "messaging/cfgutil/nic_state.h"

namespace splitnic::iou {

// The receive filter of a host. Before its first SET_FILTER all multicast passes.
struct Filter {
  // A longer list of multicast addresses becomes all-multicast, one of unicast addresses is
  // refused.
  static constexpr std::size_t kEntriesMax = messaging::NicState::kFilterEntriesMax;

  std::vector<lan::MacAddress> unicast;    // sorted, each once
  std::vector<lan::MacAddress> multicast;  // likewise
  bool promiscuous = false;
  bool all_multicast = true;
  bool no_unicast = false;
  bool no_multicast = false;
  bool no_broadcast = false;
};

struct NicSettings {
  std::optional<lan::MacAddress> mac;
  Filter filter;
  VlanRules vlans;
  bool is_pvid_chosen = false;   // in SET_PVID; otherwise it is that of the rights
  bool started = false;          // not part of state(): each connection sends START
  std::uint32_t granted = 0;     // offloads, in INIT_NIC
  std::uint32_t features = 0;    // of these, what SET_OFFLOADS left on
  std::uint32_t mtu = 0;         // in force for this host: the LAN's or less
  std::uint32_t mtu_wanted = 0;  // in SET_MTU; 0: none. Granted as soon as the LAN allows it
  // In SET_MTU, until the MTU of the NIC was set (iou_module/nic/mtu_follower.h); 0: none.
  std::uint32_t mtu_deferred = 0;
  std::uint32_t queues = 0;  // of SET_QUEUES; 0: all that it has
  messaging::Coalescing coalescing{};
  messaging::QosMap qos{};  // as requested

  // The LAN has this MTU, which is in force for a host that has requested none.
  void follow_lan_mtu(std::uint32_t lan_mtu) {
    mtu = mtu_wanted != 0 ? std::min(mtu_wanted, lan_mtu) : lan_mtu;
  }
  bool owns(const lan::MacAddress& address) const {
    return (mac && *mac == address) || std::ranges::binary_search(filter.unicast, address);
  }
  // Returns what owns() is true for.
  std::vector<lan::MacAddress> addresses() const {
    std::vector<lan::MacAddress> all = filter.unicast;
    if (mac && !std::ranges::binary_search(all, *mac)) all.insert(all.begin(), *mac);
    return all;
  }
  // Returns true if a frame with this destination is for this host, once it has started.
  bool wants(const lan::MacAddress& destination) const {
    if (filter.promiscuous) return true;
    if (lan::is_broadcast(destination)) return !filter.no_broadcast;
    if (lan::is_multicast(destination)) {
      if (filter.no_multicast) return false;
      return filter.all_multicast || std::ranges::binary_search(filter.multicast, destination);
    }
    return !filter.no_unicast && owns(destination);
  }
  // Returns the state of which GET_STATE returns the digest.
  messaging::NicState state() const {
    messaging::NicState s;
    s.mac = mac.value_or(lan::MacAddress{});
    s.promiscuous = filter.promiscuous;
    s.all_multicast = filter.all_multicast;
    s.no_unicast = filter.no_unicast;
    s.no_multicast = filter.no_multicast;
    s.no_broadcast = filter.no_broadcast;
    s.unicast = filter.unicast;
    s.multicast = filter.multicast;
    s.vlans = vlans.list();
    s.pvid = vlans.pvid();
    s.mtu = mtu;
    s.offloads = features;
    s.queues = queues;
    s.coalescing = coalescing;
    s.qos = qos;
    return s;
  }
};

}  // namespace splitnic::iou
