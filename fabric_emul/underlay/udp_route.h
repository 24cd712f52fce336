// The interface that datagrams to an address leave by: asks the kernel for its route and for the
// interface of it, by rtnetlink. For INIT, not for the data path. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "fabric_emul/underlay/udp_address.h"

namespace splitnic::fabric {

struct WayOut {
  // The route leads to an address of this network namespace, or leaves by a veth or loopback
  // interface.
  bool is_memory = false;
  std::uint32_t interface = 0;  // its index
  // Bytes of an IP packet: the MTU of the interface, or that of the route where a smaller one is
  // configured there. The kernel's path MTU, which ICMP lowers, does not count. [H-6]
  std::size_t mtu = 0;
};

// Returns how datagrams to `to` leave. `from` is the socket's own address, any address where it has
// none; `device` the interface that it is bound to, "" where it is bound to none. An error: the
// kernel has no route, or did not reply.
base::Result<WayOut> find_way_out(const UdpAddress& to, const UdpAddress& from,
                                  const std::string& device);

// Returns whether the address is one of this network namespace; true if the kernel does not reply.
bool is_own_address(const UdpAddress& address);

}  // namespace splitnic::fabric
