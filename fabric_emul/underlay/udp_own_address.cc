// The own address of a connected UDP socket, which connect() chose by the routes. When the machine
// has it no more, IPv4 refuses to send from it, and over IPv6 nothing comes back. Then the socket
// connects again: to the same peer, from the address and the port that the system gives it now.
// Keyed peers know each other by their keys, so their session continues (docs/protocol/session.md).
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/log.h"
#include "fabric_emul/underlay/udp_address.h"
#include "fabric_emul/underlay/udp_route.h"
#include "fabric_emul/underlay/udp_underlay.h"

namespace splitnic::fabric {

void UdpUnderlay::check_own_address() { take_own_address(); }

// A disconnected socket has none.
bool UdpUnderlay::has_own_address() const {
  const UdpAddress own(local_address());
  return !own.is_any() && is_own_address(own);
}

// Returns true if the socket sends from another address now.
bool UdpUnderlay::take_own_address() {
  if (!is_connected_ || is_bound_ || has_own_address()) return false;
  if (!connect_again()) return false;
  base::log_info("the address of the fabric is gone: continuing from " + name_of(local_address()));
  return true;
}

// Without another address the socket stays disconnected: it has no port, so nobody can send to it.
bool UdpUnderlay::connect_again() {
  const sockaddr none{.sa_family = AF_UNSPEC, .sa_data = {}};
  const auto disconnect = [&] { return ::connect(fd_.get(), &none, sizeof none) == 0; };
  if (!disconnect() || !tie_to_device()) return false;
  const UdpAddress peer(connected_to_);
  if (::connect(fd_.get(), peer.get(), peer.bytes()) == 0 && !leaves_by_own_device()) return true;
  disconnect();
  return false;
}

// The fabric must not run over the interface that it carries.
bool UdpUnderlay::leaves_by_own_device() const {
  if (own_device_.empty()) return false;
  const auto way =
      find_way_out(UdpAddress(connected_to_), UdpAddress(local_address()), bind_device_);
  return !way || way->interface == ::if_nametoindex(own_device_.c_str());
}

}  // namespace splitnic::fabric
