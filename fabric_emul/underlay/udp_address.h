// A PeerAddress as a sockaddr. Two addresses of one peer compare equal: fields that do not
// distinguish peers are zero.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric {

class UdpAddress {
 public:
  UdpAddress(const sockaddr& address, socklen_t bytes);
  explicit UdpAddress(const PeerAddress& peer);

  int family() const { return address_.sin6_family; }
  const sockaddr_in6& v6() const { return address_; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&address_); }
  socklen_t bytes() const {
    return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  }
  PeerAddress peer() const;
  bool is_any() const;                                              // any of our addresses
  std::uint16_t port() const { return ntohs(address_.sin6_port); }  // at one place in both families
  // Index (UdpLocalTable) of our address that the peer sends to: stored in a field that the system
  // ignores, and not part of what is sent. 0: any.
  std::uint32_t local_index() const;
  void set_local_index(std::uint32_t index);
  std::string text() const;  // "10.0.0.1:4791", "[fe80::1%2]:4791"

 private:
  sockaddr_in6 address_{};
};
static_assert(sizeof(sockaddr_in6) == sizeof(PeerAddress::bytes));

}  // namespace splitnic::fabric
