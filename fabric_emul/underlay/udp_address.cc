#include "fabric_emul/underlay/udp_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace splitnic::fabric {
namespace {

std::size_t local_index_at(int family) {
  return family == AF_INET ? offsetof(sockaddr_in, sin_zero)
                           : offsetof(sockaddr_in6, sin6_flowinfo);
}

}  // namespace

UdpAddress::UdpAddress(const sockaddr& address, socklen_t bytes) {
  std::memcpy(&address_, &address, std::min<std::size_t>(bytes, sizeof(address_)));
  if (family() == AF_INET) {
    std::memset(reinterpret_cast<char*>(&address_) + offsetof(sockaddr_in, sin_zero), 0,
                sizeof(address_) - offsetof(sockaddr_in, sin_zero));
  } else {
    address_.sin6_flowinfo = 0;
  }
}

UdpAddress::UdpAddress(const PeerAddress& peer) {
  std::memcpy(&address_, peer.bytes.data(), sizeof(address_));
}

PeerAddress UdpAddress::peer() const {
  PeerAddress peer;
  std::memcpy(peer.bytes.data(), &address_, sizeof(address_));
  return peer;
}

bool UdpAddress::is_any() const {
  if (family() == AF_INET6) return IN6_IS_ADDR_UNSPECIFIED(&address_.sin6_addr);
  sockaddr_in v4;
  std::memcpy(&v4, &address_, sizeof v4);
  return v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

std::uint32_t UdpAddress::local_index() const {
  std::uint32_t index = 0;
  std::memcpy(&index, reinterpret_cast<const char*>(&address_) + local_index_at(family()),
              sizeof index);
  return index;
}

void UdpAddress::set_local_index(std::uint32_t index) {
  std::memcpy(reinterpret_cast<char*>(&address_) + local_index_at(family()), &index, sizeof index);
}

std::string UdpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (family() == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address_);
    inet_ntop(AF_INET, &v4->sin_addr, host.data(), host.size());
    return fmt::format("{}:{}", host.data(), port());
  }
  if (family() != AF_INET6) return "no address";
  inet_ntop(AF_INET6, &address_.sin6_addr, host.data(), host.size());
  if (IN6_IS_ADDR_V4MAPPED(&address_.sin6_addr)) {
    return fmt::format("{}:{}", host.data() + std::strlen("::ffff:"), port());
  }
  if (address_.sin6_scope_id == 0) return fmt::format("[{}]:{}", host.data(), port());
  return fmt::format("[{}%{}]:{}", host.data(), address_.sin6_scope_id, port());
}

}  // namespace splitnic::fabric
