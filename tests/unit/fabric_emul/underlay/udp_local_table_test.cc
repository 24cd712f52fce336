// The addresses that a socket for all of them keeps, filled by a stranger.
#include "fabric_emul/underlay/udp_local_table.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

namespace splitnic::fabric::udp_local_table_test {

// The index of an address that a datagram came to, as the kernel reports it to a socket of IPv6:
// an IPv4 address is mapped.
std::uint32_t index_of(UdpLocalTable& table, const std::string& address, unsigned interface = 1) {
  in6_pktinfo info{};
  EXPECT_EQ(::inet_pton(AF_INET6, address.c_str(), &info.ipi6_addr), 1) << address;
  info.ipi6_ifindex = interface;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof info)> control{};
  auto* header = reinterpret_cast<cmsghdr*>(control.data());
  *header = {CMSG_LEN(sizeof info), IPPROTO_IPV6, IPV6_PKTINFO};
  std::memcpy(CMSG_DATA(header), &info, sizeof info);
  return table.index_of(*header);
}

// The same for a socket of IPv4.
std::uint32_t index_of_ip4(UdpLocalTable& table, const std::string& address) {
  in_pktinfo info{};
  EXPECT_EQ(::inet_pton(AF_INET, address.c_str(), &info.ipi_spec_dst), 1) << address;
  info.ipi_ifindex = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof info)> control{};
  auto* header = reinterpret_cast<cmsghdr*>(control.data());
  *header = {CMSG_LEN(sizeof info), IPPROTO_IP, IP_PKTINFO};
  std::memcpy(CMSG_DATA(header), &info, sizeof info);
  return table.index_of(*header);
}

// The 300 addresses NETWORK.0.0 and so on.
std::string address_of(const std::string& network, int number) {
  return network + "." + std::to_string(number / 256) + "." + std::to_string(number % 256);
}

TEST(UdpLocalTableTest, a_user_of_the_machine_leaves_room_for_addresses_of_the_network) {
  UdpLocalTable table;
  for (int i = 0; i < 300; ++i) {
    const bool has_index = index_of(table, "::ffff:" + address_of("127.0", i)) != 0;
    EXPECT_EQ(has_index, i < 8) << i;
    EXPECT_EQ(index_of(table, "::ffff:" + address_of("239.1", i)), 0U) << i;
  }
  EXPECT_EQ(index_of(table, "::ffff:255.255.255.255"), 0U);
  const std::uint32_t first = index_of(table, "::ffff:192.0.2.1");
  EXPECT_NE(first, 0U);
  EXPECT_EQ(index_of(table, "::ffff:192.0.2.1", 2), first) << "by another interface";
  EXPECT_NE(index_of(table, "2001:db8::1"), 0U);
  EXPECT_NE(index_of(table, "7fff::1"), 0U) << "it begins as a loopback address of IPv4";
  EXPECT_NE(index_of(table, "fe80::1", 2), index_of(table, "fe80::1", 3));
  EXPECT_NE(index_of(table, "::ffff:127.0.0.1"), 0U) << "it was one of the first";
}

TEST(UdpLocalTableTest, a_socket_of_ipv4_leaves_room_for_addresses_of_the_network) {
  UdpLocalTable table;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(index_of_ip4(table, address_of("127.0", i)) != 0, i < 8) << i;
  }
  EXPECT_NE(index_of_ip4(table, "192.0.2.1"), 0U);
}

TEST(UdpLocalTableTest, addresses_beyond_the_bound_have_no_index) {
  UdpLocalTable table;
  constexpr int kMax = static_cast<int>(UdpLocalTable::kEntriesMax);
  for (int i = 0; i < kMax; ++i) {
    EXPECT_EQ(index_of_ip4(table, address_of("10.0", i)), static_cast<std::uint32_t>(i + 1));
  }
  EXPECT_EQ(index_of_ip4(table, "192.0.2.1"), 0U);
  EXPECT_EQ(index_of_ip4(table, "10.0.0.0"), 1U);
}

}  // namespace splitnic::fabric::udp_local_table_test
