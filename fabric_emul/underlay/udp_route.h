// Which kind of interface datagrams to an address leave by: asks the kernel for its route and for
// the interface of it, by rtnetlink. For INIT, not for the data path. Thread: any.
#pragma once

#include <string>

#include "base/status.h"
#include "fabric_emul/underlay/udp_address.h"

namespace splitnic::fabric {

// Returns whether the route to `to` leads to an address of this network namespace, or leaves by a
// veth or loopback interface. `from` is the socket's own address, any address where it has none;
// `device` the interface that it is bound to, "" where it is bound to none. An error: the kernel
// has no route, or did not reply.
base::Result<bool> route_is_memory(const UdpAddress& to, const UdpAddress& from,
                                   const std::string& device);

}  // namespace splitnic::fabric
