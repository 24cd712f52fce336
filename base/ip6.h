// The smallest MTU of IPv6: every path that carries IPv6 has it (RFC 8200, section 5).
#pragma once

#include <cstddef>

namespace splitnic::base {

inline constexpr std::size_t kIp6MtuMin = 1280;
// The longest UDP datagram in a packet of that length, without the headers of IPv6 and UDP.
inline constexpr std::size_t kIp6DatagramBytesMin = kIp6MtuMin - 48;

}  // namespace splitnic::base
