// One NIC may carry both the LAN and the fabric: a BPF program (run by the kernel, before anything
// is copied) that keeps the unit's own fabric datagrams out of what a port captures.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "lan_bridge/frame/ethernet.h"

namespace splitnic::lan {

// Where the unit listens.
struct FabricEndpoint {
  std::uint16_t udp_port = 0;
  // IPv4 or IPv6 as text, a zone ("fe80::1%eth1") is ignored: no datagram carries it. Empty,
  // "0.0.0.0" or "::": any address of this machine.
  std::string address = {};
};

// Accepts every frame but UDP datagrams to one of the endpoints. An endpoint of any address is
// recognised by the NIC's own MAC, so that the hosts' datagrams to the same port elsewhere pass.
// Tags must be out of band (or the frame is none of the unit's). An error: an address that is none.
base::Result<std::vector<sock_filter>> exclude_fabric(const std::vector<FabricEndpoint>& endpoints,
                                                      const MacAddress& nic);

}  // namespace splitnic::lan
