// One NIC may carry both the LAN and the fabric. A BPF program, which the kernel runs before it
// copies anything, excludes the unit's own fabric datagrams from what a port captures.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "lan_bridge/frame/ethernet.h"

namespace splitnic::lan {

// An address at which the unit listens.
struct FabricEndpoint {
  std::uint16_t udp_port = 0;
  // IPv4 or IPv6 as text, a zone ("fe80::1%eth1") is ignored: no datagram carries it. Empty,
  // "0.0.0.0" or "::": any address of this machine.
  std::string address = {};
};

// Returns a program that accepts every frame except UDP datagrams to one of the endpoints. An
// endpoint of any address is recognised by the NIC's own MAC, so that the hosts' datagrams to the
// same port elsewhere pass. VLAN tags must be out of band; a frame with tags in band passes.
// Returns an error for an address that is not an IP address.
base::Result<std::vector<sock_filter>> exclude_fabric(const std::vector<FabricEndpoint>& endpoints,
                                                      const MacAddress& nic);

}  // namespace splitnic::lan
