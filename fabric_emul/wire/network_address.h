// The address of a port beyond its subnet: the prefix of the subnet (64 bits), and the LID of the
// port in the last 16. Written as an IPv6 address. Pure. docs/protocol/network.md
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

inline constexpr std::size_t kNetworkAddressBytes = 16;
inline constexpr std::size_t kSubnetPrefixBytes = 8;

struct NetworkAddress {
  std::array<std::byte, kNetworkAddressBytes> bytes{};
  friend auto operator<=>(const NetworkAddress&, const NetworkAddress&) = default;
};

// The port of this LID in the subnet of `subnet`.
NetworkAddress network_address_of(const NetworkAddress& subnet, Lid lid);
bool is_same_subnet(const NetworkAddress& a, const NetworkAddress& b);
// Whether routers forward what has it: it is not multicast, link-local, loopback or unspecified.
bool is_routable(const NetworkAddress& address);
// Returns nothing if the address is not of the form above: bits between prefix and LID, LID 0, or
// one beyond those of ports.
std::optional<Lid> lid_in(const NetworkAddress& address);
// REQUIRES in.size() >= kNetworkAddressBytes.
NetworkAddress load_network_address(base::Bytes in);
std::string text_of(const NetworkAddress& address);

// All addresses that begin with the first `bits` bits of one, 0 to 128.
struct NetworkPrefix {
  NetworkAddress address;
  unsigned bits = 0;
  bool contains(const NetworkAddress& other) const;
  friend bool operator==(const NetworkPrefix&, const NetworkPrefix&) = default;
};

}  // namespace splitnic::fabric
