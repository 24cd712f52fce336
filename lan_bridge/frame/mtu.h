// Bounds of an MTU, in bytes of an IP datagram. They differ because different parties set them:
// the LAN's NIC or a capture file, the kernel for the interface that we create, and the I/O unit
// for what a host may request over the fabric.
#pragma once

#include <cstdint>

#include "lan_bridge/frame/ethernet.h"

namespace splitnic::lan {

// Every IPv4 link carries datagrams of this length (RFC 791).
inline constexpr std::uint32_t kMtuMin = 68;
// The longest IP datagram (RFC 791): the bound of a capture file and of a request to the I/O unit.
// A real NIC has a lower one and enforces it.
inline constexpr std::uint32_t kLanMtuMax = 65535;
// The bound of a TAP, for which the kernel counts the Ethernet header as part of kLanMtuMax: what
// --mtu and `splitnic set mtu` accept.
inline constexpr std::uint32_t kTapMtuMax = kLanMtuMax - kEthernetBytes;
// The minimum that a host may request of the I/O unit: every IPv4 host accepts datagrams of this
// length (RFC 791), and other hosts on the LAN rely on it.
inline constexpr std::uint32_t kRequestedMtuMin = 576;

}  // namespace splitnic::lan
