// The group frames (broadcast and multicast) that the hosts of one NIC have sent within
// kReturnsWithin, at any queue. Access points and some switches return such a frame to its sender:
// it is known again by the first bytes, since a short one comes back with padding. The segments of
// a super-frame are not known again. Each host has a place for its last kFramesMax, so that none
// pushes out those of another. Thread: the data thread. [H-1] docs/nic_service.md#addresses
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/bytes.h"
#include "base/clock.h"
#include "iou_module/hosts/host_id.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::iou {

class SentGroups {
 public:
  // Two frames with one head are the same: it has their addresses and the headers behind them.
  struct Head {
    // Ethernet and ARP, or Ethernet, IPv4 and the UDP ports and length.
    static constexpr std::size_t kBytesMax = 40;
    std::array<std::byte, kBytesMax> bytes{};
    std::size_t size = 0;
    friend bool operator==(const Head&, const Head&) = default;
  };
  static constexpr base::Duration kReturnsWithin = std::chrono::seconds(1);
  static constexpr std::size_t kFramesMax = 64;   // of a host
  static constexpr std::size_t kHostsMax = 1024;  // beyond, all are forgotten

  // `frame` is [virtio-net header][Ethernet frame], as it is on the LAN. All of the head is there
  // before the LAN port computes a checksum.
  static Head head_of(base::Bytes frame) {
    const base::Bytes ethernet = frame.subspan(lan::kVnetHeaderBytes);
    Head head;
    head.size = std::min(ethernet.size(), Head::kBytesMax);
    std::ranges::copy(ethernet.first(head.size), head.bytes.begin());
    return head;
  }
  void note(const HostId& node, const Head& head, base::Time now) {
    if (hosts_.size() >= kHostsMax && !hosts_.contains(node)) {
      std::erase_if(hosts_, [&](const auto& entry) { return now >= entry.second.until; });
      if (hosts_.size() >= kHostsMax) hosts_.clear();
    }
    Host& host = hosts_[node];
    host.until = now + kReturnsWithin;
    host.sent.at(host.next) = {head, now + kReturnsWithin};
    host.next = (host.next + 1) % kFramesMax;
  }
  bool has(const Head& head, base::Time now) const {
    return std::ranges::any_of(hosts_, [&](const auto& entry) {
      return now < entry.second.until &&
             std::ranges::any_of(entry.second.sent, [&](const Sent& sent) {
               return now < sent.until && sent.head == head;
             });
    });
  }

 private:
  struct Sent {
    Head head;
    base::Time until{};
  };
  struct Host {
    std::array<Sent, kFramesMax> sent{};
    std::size_t next = 0;
    base::Time until{};  // of the newest
  };
  std::map<HostId, Host> hosts_;
};

}  // namespace splitnic::iou
