#include "control/config/ip_address.h"

#include <netinet/in.h>

#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <cstring>

#include "control/config/values.h"

namespace splitnic::control {
namespace {

namespace ip = boost::asio::ip;

IpAddress without_mapping(const IpAddress& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return ip::make_address_v4(ip::v4_mapped, address.to_v6());
}

// The address with all bits after the prefix cleared. REQUIRES bits <= the address's own.
IpAddress masked(const IpAddress& address, unsigned bits) {
  const auto prefix = static_cast<unsigned short>(bits);
  if (address.is_v4()) return ip::make_network_v4(address.to_v4(), prefix).canonical().address();
  return ip::make_network_v6(address.to_v6(), prefix).canonical().address();
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  // Asio reads up to a zero byte, and takes a zone.
  if (text.find('\0') != text.npos || text.find('%') != text.npos) return std::nullopt;
  boost::system::error_code error;
  const IpAddress address = ip::make_address(std::string(text), error);
  if (error) return std::nullopt;
  return without_mapping(address);
}

std::optional<IpAddress> ip_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof(v4));
    return ip::address_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof(v6));
  ip::address_v6::bytes_type bytes;
  std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
  return without_mapping(ip::address_v6(bytes));
}

base::Result<Cidr> parse_cidr(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto network = parse_ip(std::string_view(text).substr(0, slash));
  const base::Error bad("'" + text + "' is not an address block like 192.0.2.0/24 or fd00::/8");
  if (!network) return bad;
  const unsigned bits_max = network->is_v6() ? 128 : 32;
  Cidr block{*network, bits_max};
  if (slash == std::string::npos) return block;
  const auto bits = parse_number(std::string_view(text).substr(slash + 1), bits_max);
  if (!bits) return bad;
  block.prefix_bits = static_cast<unsigned>(*bits);
  if (masked(*network, block.prefix_bits) != *network) {
    return base::Error("'" + text +
                       "' has bits set after its prefix: clear them, or give a longer prefix");
  }
  return block;
}

bool Cidr::contains(const IpAddress& address) const {
  return address.is_v6() == network.is_v6() && masked(address, prefix_bits) == network;
}

}  // namespace splitnic::control
