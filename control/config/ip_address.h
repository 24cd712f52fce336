// IP addresses and blocks of them: what --connect, --listen and --allow name. An IPv4-mapped IPv6
// address is always held as the IPv4 address, so that both spellings compare equal; zones are kept
// apart (values.h).
#pragma once

#include <sys/socket.h>

#include <boost/asio/ip/address.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace splitnic::control {

using IpAddress = boost::asio::ip::address;

// Returns nothing if `text` is not a plain address, without zone, prefix or port.
std::optional<IpAddress> parse_ip(std::string_view text);
// Returns the address in a sockaddr_in or sockaddr_in6, or nothing for another family.
std::optional<IpAddress> ip_of(const sockaddr& address);

// 192.0.2.0/24 or fd00::/8; an address alone is a block of that address.
struct Cidr {
  IpAddress network;
  unsigned prefix_bits = 0;
  bool contains(const IpAddress& address) const;
  friend bool operator==(const Cidr&, const Cidr&) = default;
};
// Bits after the prefix must be zero.
base::Result<Cidr> parse_cidr(const std::string& text);

}  // namespace splitnic::control
