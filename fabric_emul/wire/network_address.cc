#include "fabric_emul/wire/network_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kLidAt = kNetworkAddressBytes - sizeof(std::uint16_t);

}  // namespace

NetworkAddress network_address_of(const NetworkAddress& subnet, Lid lid) {
  NetworkAddress address;
  std::copy_n(subnet.bytes.begin(), kSubnetPrefixBytes, address.bytes.begin());
  base::store_be(&address.bytes[kLidAt], lid.value);
  return address;
}

bool is_same_subnet(const NetworkAddress& a, const NetworkAddress& b) {
  return std::equal(a.bytes.begin(), a.bytes.begin() + kSubnetPrefixBytes, b.bytes.begin());
}

// RFC 4291, section 2.4.
bool is_routable(const NetworkAddress& address) {
  constexpr std::byte kUpperBits{0xC0};
  const bool is_multicast = address.bytes[0] == std::byte{0xFF};
  const bool is_link_local =
      address.bytes[0] == std::byte{0xFE} && (address.bytes[1] & kUpperBits) == std::byte{0x80};
  NetworkAddress first = address;  // without the last bit: :: and ::1
  first.bytes[kNetworkAddressBytes - 1] &= std::byte{0xFE};
  return !is_multicast && !is_link_local && first != NetworkAddress{};
}

std::optional<Lid> lid_in(const NetworkAddress& address) {
  const Lid lid(base::load_be<std::uint16_t>(&address.bytes[kLidAt]));
  const bool is_port = lid != Lid() && lid.value <= kPortLidMax;
  if (!is_port || address != network_address_of(address, lid)) return std::nullopt;
  return lid;
}

NetworkAddress load_network_address(base::Bytes in) {
  CHECK(in.size() >= kNetworkAddressBytes);
  NetworkAddress address;
  std::memcpy(address.bytes.data(), in.data(), kNetworkAddressBytes);
  return address;
}

std::string text_of(const NetworkAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  CHECK(::inet_ntop(AF_INET6, address.bytes.data(), text.data(), text.size()) != nullptr);
  return text.data();
}

bool NetworkPrefix::contains(const NetworkAddress& other) const {
  const std::size_t whole = bits / 8;
  if (!std::equal(address.bytes.begin(), address.bytes.begin() + static_cast<std::ptrdiff_t>(whole),
                  other.bytes.begin())) {
    return false;
  }
  if (bits % 8 == 0) return true;
  const std::byte difference = address.bytes.at(whole) ^ other.bytes.at(whole);
  return std::to_integer<unsigned>(difference) >> (8 - bits % 8) == 0;
}

}  // namespace splitnic::fabric
