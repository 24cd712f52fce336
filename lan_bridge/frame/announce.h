// Announcements of an address, from which a LAN learns where it is now: for IPv4 an ARP
// announcement (a request whose sender and target are the same, RFC 5227 section 3), for IPv6 an
// unsolicited neighbour advertisement to all nodes (RFC 4861 section 7.2.6). No node has to reply.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {

struct LocalAddress {
  bool is_ip6 = false;
  std::array<std::uint8_t, 16> bytes{};  // IPv4: the first four
  // IPv6: the interface forwards. Neighbours drop a router whose advertisement has no router flag.
  bool is_router = false;
  friend bool operator==(const LocalAddress&, const LocalAddress&) = default;
};

inline constexpr std::size_t kAnnounceBytesMax = VnetHeader::kBytes + kEthernetBytes + 40 + 32;

// Writes [virtio-net header, all 0][Ethernet frame] to the start of `room` and returns that part.
// REQUIRES room.size() >= kAnnounceBytesMax.
base::MutableBytes emit_announcement(base::MutableBytes room, const MacAddress& mac,
                                     const LocalAddress& address);

}  // namespace splitnic::lan
