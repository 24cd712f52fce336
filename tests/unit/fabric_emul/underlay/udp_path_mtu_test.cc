// Tests the maximum length of datagrams: interfaces and routes decide, and ICMP does not, whoever
// sends it.
#include <gtest/gtest.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "fabric_emul/underlay/udp_address.h"
#include "fabric_emul/underlay/udp_underlay.h"
#include "tests/support/network_namespace.h"
#include "tests/support/one_cpu.h"

namespace splitnic::fabric::udp_path_mtu_test {

using support::add_ipv6;
using support::run;
using support::with_silent_neighbour;
using Status = Underlay::SendStatus;

std::unique_ptr<UdpUnderlay> open_udp(const UdpConfig& config) {
  return UdpUnderlay::open(config).value();
}

template <class Part>
void append(std::vector<char>& bytes, const Part& part) {
  const auto* from = reinterpret_cast<const char*>(&part);
  bytes.insert(bytes.end(), from, from + sizeof part);
}

// RFC 1071
std::uint16_t checksum(const std::vector<char>& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    std::uint16_t word = 0;
    std::memcpy(&word, &bytes[i], sizeof word);
    sum += word;
  }
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

udphdr quoted(in_port_t source, in_port_t destination) {
  udphdr udp{};
  udp.source = source;
  udp.dest = destination;
  udp.len = htons(1480);
  return udp;
}

struct IcmpKind {
  std::uint8_t type = 0;
  std::uint8_t code = 0;
};
constexpr IcmpKind kTooLong{ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED};
constexpr IcmpKind kTooLongV6{ICMP6_PACKET_TOO_BIG, 0};

std::vector<char> report_v4(const sockaddr_in& about, const sockaddr_in& to, std::uint16_t mtu,
                            IcmpKind kind) {
  icmphdr head{};
  head.type = kind.type;
  head.code = kind.code;
  head.un.frag.mtu = htons(mtu);
  iphdr ip{};
  ip.version = 4;
  ip.ihl = 5;
  ip.tot_len = htons(1500);
  ip.ttl = 64;
  ip.protocol = IPPROTO_UDP;
  ip.saddr = about.sin_addr.s_addr;
  ip.daddr = to.sin_addr.s_addr;
  std::vector<char> report;
  append(report, head);
  append(report, ip);
  append(report, quoted(about.sin_port, to.sin_port));
  const std::uint16_t sum = checksum(report);
  std::memcpy(&report[offsetof(icmphdr, checksum)], &sum, sizeof sum);
  return report;
}

std::vector<char> report_v6(const sockaddr_in6& about, const sockaddr_in6& to, std::uint32_t mtu,
                            IcmpKind kind) {
  icmp6_hdr head{};
  head.icmp6_type = kind.type;
  head.icmp6_code = kind.code;
  head.icmp6_mtu = htonl(mtu);
  ip6_hdr ip{};
  ip.ip6_vfc = 0x60;
  ip.ip6_plen = htons(1480);
  ip.ip6_nxt = IPPROTO_UDP;
  ip.ip6_hlim = 64;
  ip.ip6_src = about.sin6_addr;
  ip.ip6_dst = to.sin6_addr;
  std::vector<char> report;
  append(report, head);
  append(report, ip);
  append(report, quoted(about.sin6_port, to.sin6_port));
  return report;  // the kernel computes the checksum
}

// Echo replies that this namespace has received, which nothing but forge() sends here.
int echo_replies_received(bool v4) {
  if (!v4) {
    std::ifstream counters("/proc/thread-self/net/snmp6");
    std::string name;
    for (int count = 0; counters >> name >> count;) {
      if (name == "Icmp6InEchoReplies") return count;
    }
    return -1;
  }
  // A line of names and a line of numbers.
  std::ifstream counters("/proc/thread-self/net/snmp");
  std::string names;
  std::string numbers;
  while (std::getline(counters, names) && std::getline(counters, numbers)) {
    std::istringstream name_of(names);
    std::istringstream number_of(numbers);
    std::string name;
    std::string number;
    while (name_of >> name && number_of >> number) {
      if (name == "InEchoReps") return std::stoi(number);
    }
  }
  return -1;
}

void send_icmp(const UdpAddress& to, const std::vector<char>& message) {
  const int protocol = to.family() == AF_INET ? int{IPPROTO_ICMP} : int{IPPROTO_ICMPV6};
  const base::UniqueFd raw(::socket(to.family(), SOCK_RAW | SOCK_CLOEXEC, protocol));
  sockaddr_in6 where;
  std::memcpy(&where, to.get(), to.bytes());
  where.sin6_port = 0;
  ASSERT_EQ(::sendto(raw.get(), message.data(), message.size(), 0,
                     reinterpret_cast<const sockaddr*>(&where), to.bytes()),
            static_cast<ssize_t>(message.size()));
}

std::vector<char> echo_reply(bool v4) {
  std::vector<char> reply;
  if (v4) {
    icmphdr head{};
    head.type = ICMP_ECHOREPLY;
    append(reply, head);
    const std::uint16_t sum = checksum(reply);
    std::memcpy(&reply[offsetof(icmphdr, checksum)], &sum, sizeof sum);
  } else {
    icmp6_hdr head{};
    head.icmp6_type = ICMP6_ECHO_REPLY;
    append(reply, head);
  }
  return reply;
}

// Reports something to the owner of `about` of a datagram from there to `to`, as anybody can.
// Returns when the report has been taken: on a busy machine the kernel puts that off, so an echo
// reply follows, which waits in the same queue when it is sent by the same CPU.
void forge(const UdpAddress& about, const UdpAddress& to, std::uint16_t mtu, IcmpKind kind) {
  const bool v4 = about.family() == AF_INET;
  std::vector<char> report;
  if (v4) {
    sockaddr_in from;
    sockaddr_in peer;
    std::memcpy(&from, about.get(), sizeof from);
    std::memcpy(&peer, to.get(), sizeof peer);
    report = report_v4(from, peer, mtu, kind);
  } else {
    report = report_v6(about.v6(), to.v6(), mtu, kind);
  }
  const support::OneCpu pinned;
  const int before = echo_replies_received(v4);
  ASSERT_GE(before, 0);
  send_icmp(about, report);
  send_icmp(about, echo_reply(v4));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (echo_replies_received(v4) == before) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "no report arrives";
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

// That the datagram was too long.
void forge(const UdpAddress& about, const UdpAddress& to, std::uint16_t mtu) {
  forge(about, to, mtu, about.family() == AF_INET ? kTooLong : kTooLongV6);
}

// The path MTU as the kernel has it for other sockets: here a report does count.
int kernel_path_mtu(const UdpAddress& to) {
  const bool v4 = to.family() == AF_INET;
  const base::UniqueFd fd(::socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  int mtu = -1;
  socklen_t bytes = sizeof mtu;
  if (::connect(fd.get(), to.get(), to.bytes()) != 0) return -1;
  ::getsockopt(fd.get(), v4 ? int{IPPROTO_IP} : int{IPPROTO_IPV6}, v4 ? IP_MTU : IPV6_MTU, &mtu,
               &bytes);
  return mtu;
}

TEST(UdpPathMtuTest, it_is_that_of_the_way_out) {
  with_silent_neighbour([] {
    add_ipv6("fd00:9::1", "d0");
    UdpConfig config;
    config.connect = "10.9.9.2:4791";
    config.bind_device = "d0";
    const auto client = open_udp(config);
    EXPECT_EQ(client->datagram_bytes_max(client->connected_to()), 1472U);
    const std::vector<std::byte> batch(60000);
    const PeerAddress& to = client->connected_to();
    EXPECT_EQ(client->send(to, batch, 1436), Status::kSent);
    EXPECT_EQ(client->send(to, base::Bytes(batch).first(1473), 1473), Status::kTooLong);
    // A batch whose datagrams are all too long is reported, and segmenting stays in use.
    EXPECT_EQ(client->send(to, batch, 1500), Status::kTooLong);
    EXPECT_TRUE(client->segments());
    run("ip link set d0 mtu 1400");
    EXPECT_EQ(client->datagram_bytes_max(to), 1372U);
    EXPECT_EQ(client->send(to, batch, 1436), Status::kTooLong);
    EXPECT_EQ(client->send(to, batch, 1336), Status::kSent);
    EXPECT_TRUE(client->segments());

    const auto anyone = open_udp({});
    const auto v6 = UdpUnderlay::resolve("[fd00:9::2]:4791");
    EXPECT_EQ(anyone->datagram_bytes_max(*v6), 1352U);
    // Nowhere to go is like lost on the way.
    EXPECT_EQ(anyone->send(*UdpUnderlay::resolve("[2001:db8::9]:4791"), batch, 1336),
              Status::kRefused);
    EXPECT_EQ(anyone->datagram_bytes_max(*UdpUnderlay::resolve("[2001:db8::9]:4791")), 1232U);
  });
}

// It is the administrator who configures the MTU of a route, so that one counts.
TEST(UdpPathMtuTest, a_route_may_have_a_smaller_one) {
  with_silent_neighbour([] {
    add_ipv6("fd00:9::1", "d0");
    run("ip link set d1 address 02:00:00:00:00:02");
    run("ip route add 10.6.6.0/24 via 10.9.9.2 mtu 1300 && ip route add 10.7.7.0/24 via 10.9.9.2 "
        "mtu 9000 && ip -6 route add fd00:6::/64 via fd00:9::2 mtu 1300");
    const auto anyone = open_udp({});
    const auto bytes_to = [&](const char* text) {
      return anyone->datagram_bytes_max(*UdpUnderlay::resolve(text));
    };
    EXPECT_EQ(bytes_to("10.6.6.1:4791"), 1272U);
    EXPECT_EQ(bytes_to("[::ffff:10.6.6.1]:4791"), 1272U);
    EXPECT_EQ(bytes_to("[fd00:6::1]:4791"), 1252U);
    EXPECT_EQ(bytes_to("10.7.7.1:4791"), 1472U) << "the interface carries no more";
    // A report hides what is configured from IP_MTU, but not from us.
    UdpConfig config;
    config.connect = "10.6.6.1:4791";
    const auto client = open_udp(config);
    forge(UdpAddress(client->local_address()), UdpAddress(client->connected_to()), 600);
    EXPECT_EQ(kernel_path_mtu(UdpAddress(client->connected_to())), 600);
    EXPECT_EQ(bytes_to("10.6.6.1:4791"), 1272U);
  });
}

// A forger needs the addresses and one port: that of a listener, or both of a connected socket.
void expect_deaf_to_reports(const char* own, const char* peer, std::uint16_t mtu, int mtu_of_others,
                            std::size_t whole) {
  const auto to = *UdpUnderlay::resolve(peer);
  UdpConfig config;
  config.bind = std::string(own) + ":7471";
  const auto listener = open_udp(config);
  UdpConfig client_config;
  client_config.connect = peer;
  const auto client = open_udp(client_config);
  for (UdpUnderlay* socket : {listener.get(), client.get()}) {
    EXPECT_EQ(socket->datagram_bytes_max(to), whole);
    EXPECT_FALSE(socket->take_too_long_report());
    for (int i = 0; i < 3; ++i) {
      forge(UdpAddress(socket->local_address()), UdpAddress(to), mtu);
      EXPECT_EQ(kernel_path_mtu(UdpAddress(to)), mtu_of_others);
      const std::vector<std::byte> batch(30 * whole);
      EXPECT_EQ(socket->send(to, batch, whole), Status::kSent);
      EXPECT_EQ(socket->send(to, base::Bytes(batch).first(whole), whole), Status::kSent);
      EXPECT_TRUE(socket->segments());
      EXPECT_EQ(socket->datagram_bytes_max(to), whole);
    }
  }
  // The socket of a client gets errors of its path, by sending or receiving. That is a reason to
  // probe, once.
  EXPECT_FALSE(listener->take_too_long_report());
  EXPECT_TRUE(client->take_too_long_report());
  EXPECT_FALSE(client->take_too_long_report());
  forge(UdpAddress(client->local_address()), UdpAddress(to), mtu);
  EXPECT_FALSE(client->receive().has_value());
  EXPECT_TRUE(client->take_too_long_report());
}

TEST(UdpPathMtuTest, H_6_icmp_changes_nothing_over_ipv4) {
  with_silent_neighbour([] { expect_deaf_to_reports("10.9.9.1", "10.9.9.2:4791", 68, 552, 1472); });
}

TEST(UdpPathMtuTest, H_6_icmp_changes_nothing_over_ipv6) {
  with_silent_neighbour([] {
    add_ipv6("fd00:9::1", "d0");
    run("ip neigh add fd00:9::2 lladdr 02:00:00:00:00:02 dev d0 nud permanent");
    expect_deaf_to_reports("[fd00:9::1]", "[fd00:9::2]:4791", 1280, 1280, 1452);
  });
}

// The system reports each on the next call, which sends and receives all the same.
template <std::size_t kCount>
void expect_nothing_lost(const char* peer, const std::array<IcmpKind, kCount>& kinds) {
  UdpConfig config;
  config.connect = peer;
  const auto client = open_udp(config);
  const UdpAddress to(client->connected_to());
  const PeerAddress own = client->local_address();
  const UdpAddress from(own);
  const std::vector<std::byte> batch(30 * 1400);
  for (const IcmpKind& kind : kinds) {
    SCOPED_TRACE(testing::Message() << int{kind.type} << '/' << int{kind.code});
    forge(from, to, 0, kind);
    EXPECT_EQ(client->send(client->connected_to(), batch, 1400), Status::kSent);
    forge(from, to, 0, kind);
    EXPECT_EQ(client->send(client->connected_to(), base::Bytes(batch).first(60), 60),
              Status::kSent);
    forge(from, to, 0, kind);
    EXPECT_FALSE(client->receive().has_value());
    EXPECT_TRUE(client->segments());
    EXPECT_EQ(client->local_address(), own) << "it has not moved";
  }
}

TEST(UdpPathMtuTest, H_6_icmp_of_no_kind_costs_a_datagram_over_ipv4) {
  with_silent_neighbour([] {
    std::array<IcmpKind, 16> kinds;
    for (std::uint8_t code = 0; code < 15; ++code) kinds[code] = {ICMP_DEST_UNREACH, code};
    kinds[ICMP_FRAG_NEEDED] = {ICMP_TIME_EXCEEDED, ICMP_EXC_TTL};
    kinds[15] = {ICMP_PARAMETERPROB, 0};
    expect_nothing_lost("10.9.9.2:4791", kinds);
  });
}

TEST(UdpPathMtuTest, H_6_icmp_of_no_kind_costs_a_datagram_over_ipv6) {
  with_silent_neighbour([] {
    add_ipv6("fd00:9::1", "d0");
    run("ip neigh add fd00:9::2 lladdr 02:00:00:00:00:02 dev d0 nud permanent");
    std::array<IcmpKind, 9> kinds;
    for (std::uint8_t code = 0; code < 7; ++code) kinds[code] = {ICMP6_DST_UNREACH, code};
    kinds[7] = {ICMP6_TIME_EXCEEDED, 0};
    kinds[8] = {ICMP6_PARAM_PROB, 0};
    expect_nothing_lost("[fd00:9::2]:4791", kinds);
  });
}

// A listener of both families sends IPv4 as well.
TEST(UdpPathMtuTest, H_6_icmp_changes_nothing_over_ipv4_on_an_ipv6_socket) {
  with_silent_neighbour([] {
    UdpConfig config;
    config.bind = ":7471";
    const auto listener = open_udp(config);
    const auto to = *UdpUnderlay::resolve("10.9.9.2:4791");
    const auto mapped = *UdpUnderlay::resolve("[::ffff:10.9.9.2]:4791");
    forge(UdpAddress(*UdpUnderlay::resolve("10.9.9.1:7471")), UdpAddress(to), 68);
    EXPECT_EQ(kernel_path_mtu(UdpAddress(to)), 552);
    EXPECT_EQ(listener->datagram_bytes_max(mapped), 1472U);
    const std::vector<std::byte> batch(30 * 1472);
    EXPECT_EQ(listener->send(mapped, batch, 1472), Status::kSent);
  });
}

}  // namespace splitnic::fabric::udp_path_mtu_test
