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
#include "base/crc32c.h"
#include "iou_module/host_id.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::iou {

class SentGroups {
 public:
  using Hash = std::uint32_t;
  static constexpr base::Duration kReturnsWithin = std::chrono::seconds(1);
  static constexpr std::size_t kFramesMax = 64;   // of a host
  static constexpr std::size_t kHostsMax = 1024;  // beyond, all are forgotten

  // `frame` is [virtio-net header][Ethernet frame], as it is on the LAN. All that is hashed is
  // there before the LAN port computes a checksum.
  static Hash hash_of(base::Bytes frame) {
    const base::Bytes ethernet = frame.subspan(lan::kVnetHeaderBytes);
    return base::crc32c(ethernet.first(std::min(ethernet.size(), kHashedBytes)));
  }
  void note(const HostId& node, Hash hash, base::Time now) {
    if (hosts_.size() >= kHostsMax && !hosts_.contains(node)) hosts_.clear();
    Host& host = hosts_[node];
    host.sent.at(host.next) = {hash, now + kReturnsWithin};
    host.next = (host.next + 1) % kFramesMax;
  }
  bool has(Hash hash, base::Time now) const {
    return std::ranges::any_of(hosts_, [&](const auto& entry) {
      return std::ranges::any_of(entry.second.sent, [&](const Sent& sent) {
        return sent.hash == hash && now < sent.until;
      });
    });
  }

 private:
  // Ethernet and ARP, or Ethernet, IPv4 and the UDP ports and length.
  static constexpr std::size_t kHashedBytes = 40;
  struct Sent {
    Hash hash = 0;
    base::Time until{};
  };
  struct Host {
    std::array<Sent, kFramesMax> sent{};
    std::size_t next = 0;
  };
  std::map<HostId, Host> hosts_;
};

}  // namespace splitnic::iou
