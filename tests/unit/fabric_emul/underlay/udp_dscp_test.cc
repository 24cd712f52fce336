// The DSCP of datagrams, as a plain socket of the system has it that they come to.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "fabric_emul/underlay/udp_address.h"
#include "fabric_emul/underlay/udp_underlay.h"
#include "tests/unit/fabric_emul/link/link_world.h"

namespace splitnic::fabric::udp_dscp_test {
namespace {

using link_world::pattern;

class PlainSocket {
 public:
  explicit PlainSocket(const std::string& host) : host_(host) {
    const bool is_ip6 = host.front() == '[';
    fd_ = base::UniqueFd(::socket(is_ip6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    if (is_ip6) {
      sockaddr_in6 at{};
      at.sin6_family = AF_INET6;
      at.sin6_addr = in6addr_loopback;
      bind_to(reinterpret_cast<const sockaddr&>(at), sizeof at);
      EXPECT_EQ(::setsockopt(fd_.get(), IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof on), 0);
    } else {
      sockaddr_in at{};
      at.sin_family = AF_INET;
      at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      bind_to(reinterpret_cast<const sockaddr&>(at), sizeof at);
      EXPECT_EQ(::setsockopt(fd_.get(), IPPROTO_IP, IP_RECVTOS, &on, sizeof on), 0);
    }
  }
  std::string text() const { return host_ + ":" + std::to_string(port_); }
  void send_to(const PeerAddress& to) const {
    UdpAddress address(to);
    ASSERT_EQ(::sendto(fd_.get(), "x", 1, 0, address.get(), address.bytes()), 1);
  }
  // The traffic class, with ECN in its lowest two bits, of each datagram; -1: it has none.
  std::vector<int> classes(std::size_t count) const {
    std::vector<int> out;
    while (out.size() < count) {
      pollfd entry{fd_.get(), POLLIN, 0};
      if (::poll(&entry, 1, 60'000) != 1) break;
      out.push_back(take_class());
    }
    return out;
  }

 private:
  void bind_to(const sockaddr& at, socklen_t bytes) {
    ASSERT_EQ(::bind(fd_.get(), &at, bytes), 0);
    sockaddr_in6 bound{};
    socklen_t room = sizeof bound;
    ASSERT_EQ(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&bound), &room), 0);
    port_ = ntohs(bound.sin6_port);  // at the same place in both families
  }
  int take_class() const {
    std::array<char, 2048> bytes;
    alignas(cmsghdr) std::array<char, 256> control{};
    iovec io{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    EXPECT_GT(::recvmsg(fd_.get(), &message, 0), 0);
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_TOS) {
        return static_cast<unsigned char>(*CMSG_DATA(header));
      }
      if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_TCLASS) {
        int value = -1;
        std::memcpy(&value, CMSG_DATA(header), sizeof value);
        return value;
      }
    }
    return -1;
  }

  std::string host_;
  base::UniqueFd fd_;
  unsigned port_ = 0;
};

std::unique_ptr<UdpUnderlay> open(const UdpConfig& config) {
  auto made = UdpUnderlay::open(config);
  EXPECT_TRUE(made) << made.error().text();
  return made ? std::move(*made) : nullptr;
}

// One datagram without a DSCP, then a batch with one, then one without again.
void expect_marked(UdpUnderlay& from, const PeerAddress& to, const PlainSocket& at) {
  const auto batch = pattern(3 * 100 + 20, 1);
  ASSERT_EQ(from.send(to, batch, 1000), Underlay::SendStatus::kSent);
  EXPECT_EQ(at.classes(1), std::vector<int>{0});
  from.set_dscp(46, 48);
  ASSERT_EQ(from.send(to, batch, 100), Underlay::SendStatus::kSent);
  EXPECT_EQ(at.classes(4), std::vector<int>(4, 46 << 2));
  from.set_dscp(63, 48);
  ASSERT_EQ(from.send(to, batch, 1000), Underlay::SendStatus::kSent);
  EXPECT_EQ(at.classes(1), std::vector<int>{63 << 2});
  from.set_dscp(0, 48);
  ASSERT_EQ(from.send(to, batch, 1000), Underlay::SendStatus::kSent);
  EXPECT_EQ(at.classes(1), std::vector<int>{0});
}

TEST(UdpDscpTest, S002_43_datagrams_have_the_dscp_that_is_set) {
  for (const std::string host : {"127.0.0.1", "[::1]"}) {
    for (const bool segments : {true, false}) {
      const PlainSocket at(host);
      UdpConfig config;
      config.connect = at.text();
      config.segment = segments;
      const auto client = open(config);
      ASSERT_NE(client, nullptr);
      SCOPED_TRACE(host + (segments ? "" : " without UDP_SEGMENT"));
      expect_marked(*client, client->connected_to(), at);
    }
  }
}

// A socket of IPv6 that listens on every address sends to a peer of either family.
TEST(UdpDscpTest, S002_43_replies_of_a_listener_on_every_address_have_it_too) {
  for (const bool segments : {true, false}) {
    UdpConfig config;
    config.bind = ":0";
    config.segment = segments;
    const auto listener = open(config);
    ASSERT_NE(listener, nullptr);
    const auto port = ntohs(UdpAddress(listener->local_address()).v6().sin6_port);
    for (const std::string host : {"127.0.0.1", "[::1]"}) {
      SCOPED_TRACE(host + (segments ? "" : " without UDP_SEGMENT"));
      const PlainSocket at(host);
      const auto to = UdpUnderlay::resolve(host + ":" + std::to_string(port));
      ASSERT_TRUE(to);
      at.send_to(*to);
      pollfd entry{listener->fd(), POLLIN, 0};
      ASSERT_EQ(::poll(&entry, 1, 60'000), 1);
      const auto got = listener->receive();
      ASSERT_TRUE(got);
      expect_marked(*listener, got->from, at);
    }
  }
}

}  // namespace
}  // namespace splitnic::fabric::udp_dscp_test
