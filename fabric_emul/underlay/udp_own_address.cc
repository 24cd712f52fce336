// The own address of a connected UDP socket, which connect() chose by the routes. When the machine
// has it no more, IPv4 refuses to send from it, and over IPv6 nothing comes back. Then the socket
// connects again: to the same peer, from the address and the port that the system gives it now.
// Keyed peers know each other by their keys, so their session continues (docs/protocol/session.md).
// If the other end has moved, the socket is replaced under its descriptor: the new address may
// be of the other family.
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

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

// Returns true if the socket sends from another address now. To an awaited peer it sends from none.
bool UdpUnderlay::take_own_address() {
  const bool is_awaited = UdpAddress(peer_).is_any();
  if (is_awaited || !is_connected_ || is_bound_ || has_own_address()) return false;
  if (!connect_again()) return false;
  base::log_info("the address of the fabric is gone: continuing from " + name_of(local_address()));
  return true;
}

// Without another address the socket stays disconnected: it has no port, so nobody can send to it.
bool UdpUnderlay::connect_again() {
  const sockaddr none{.sa_family = AF_UNSPEC, .sa_data = {}};
  const auto disconnect = [&] { return ::connect(fd_.get(), &none, sizeof none) == 0; };
  if (!disconnect() || !tie_to_device()) return false;
  const UdpAddress peer(peer_);
  if (::connect(fd_.get(), peer.get(), peer.bytes()) == 0 && !leaves_by_own_device()) return true;
  disconnect();
  return false;
}

// The fabric must not run over the interface that it carries.
bool UdpUnderlay::leaves_by_own_device() const {
  if (own_device_.empty()) return false;
  const auto way = find_way_out(UdpAddress(peer_), UdpAddress(local_address()), bind_device_);
  return !way || way->interface == ::if_nametoindex(own_device_.c_str());
}

base::Status UdpUnderlay::move_to(const PeerAddress& peer) {
  UdpConfig config;
  config.connect = UdpAddress(peer).text();
  config.bind_device = bind_device_;
  config.own_device = own_device_;
  config.buffer_bytes = buffer_bytes_;
  config.gather = gathers_;
  config.reports_limits = false;
  const auto next = open(config);
  if (!next) return next.error();
  if ((*next)->leaves_by_own_device()) {
    return base::Error("the route to " + config.connect + " leads through " + own_device_ +
                       " itself");
  }
  if (::dup3((*next)->fd_.get(), fd_.get(), O_CLOEXEC) < 0) {
    return base::Error::from_errno("moving to " + config.connect, errno);
  }
  peer_ = peer;
  family_ = (*next)->family_;
  is_connected_ = true;
  receive_buffer_bytes_ = (*next)->receive_buffer_bytes_;
  resume_ = {};
  return {};
}

}  // namespace splitnic::fabric
