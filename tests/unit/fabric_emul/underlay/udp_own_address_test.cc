// A socket whose own address leaves the machine, in a network namespace of the test.
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>

#include <array>
#include <optional>

#include "fabric_emul/underlay/udp_underlay.h"
#include "tests/support/network_namespace.h"
#include "tests/unit/fabric_emul/link/link_world.h"

namespace splitnic::fabric::udp_own_address_test {

using link_world::pattern;
using support::run;
using support::with_silent_neighbour;
using Status = Underlay::SendStatus;

std::unique_ptr<UdpUnderlay> open_udp(const UdpConfig& config) {
  return UdpUnderlay::open(config).value();
}

std::string own_of(const UdpUnderlay& client) { return client.name_of(client.local_address()); }

std::string host_of(const UdpUnderlay& client) {
  const std::string text = own_of(client);
  return text.substr(0, text.rfind(':'));
}

Status send_batch(UdpUnderlay& client) {
  const auto batch = pattern(10 * 1436 + 5, 3);
  return client.send(client.connected_to(), batch, 1436);
}

TEST(UdpOwnAddressTest, sends_continue_from_another_address) {
  for (const bool segment : {true, false}) {
    with_silent_neighbour([segment] {
      const auto client = open_udp({.connect = "10.9.9.2:4791", .segment = segment});
      EXPECT_EQ(send_batch(*client), Status::kSent);
      EXPECT_EQ(host_of(*client), "10.9.9.1");
      const std::string before = own_of(*client);
      client->check_own_address();
      EXPECT_EQ(own_of(*client), before);

      run("ip address del 10.9.9.1/24 dev d0 && ip address add 10.9.9.5/24 dev d0");
      EXPECT_EQ(send_batch(*client), Status::kSent);
      EXPECT_EQ(host_of(*client), "10.9.9.5");
      EXPECT_EQ(client->segments(), segment);

      // For a while there is none.
      run("ip address del 10.9.9.5/24 dev d0");
      EXPECT_EQ(send_batch(*client), Status::kRefused);
      EXPECT_EQ(client->send(client->connected_to(), pattern(100, 1), 100), Status::kRefused);
      EXPECT_FALSE(client->receive());
      run("ip address add 10.9.9.6/24 dev d0");
      EXPECT_EQ(client->send(client->connected_to(), pattern(100, 1), 100), Status::kSent);
      EXPECT_EQ(host_of(*client), "10.9.9.6");
      EXPECT_EQ(send_batch(*client), Status::kSent);
      EXPECT_EQ(client->segments(), segment);
    });
  }
}

// The kernel continues to send from an IPv6 address that is gone, and no reply finds it.
TEST(UdpOwnAddressTest, a_socket_that_hears_nothing_takes_another_ipv6_address) {
  with_silent_neighbour([] {
    support::add_ipv6("fd09::1", "d0");
    const auto client = open_udp({.connect = "[fd09::2]:4791"});
    EXPECT_EQ(host_of(*client), "[fd09::1]");
    run("ip address del fd09::1/64 dev d0");
    support::add_ipv6("fd09::5", "d0");
    client->check_own_address();
    EXPECT_EQ(host_of(*client), "[fd09::5]");
    const std::string before = own_of(*client);
    client->check_own_address();
    EXPECT_EQ(own_of(*client), before);
  });
}

TEST(UdpOwnAddressTest, an_address_of_the_configuration_stays) {
  with_silent_neighbour([] {
    const auto client = open_udp({.bind = "10.9.9.1:0", .connect = "10.9.9.2:4791"});
    const std::string before = own_of(*client);
    run("ip address del 10.9.9.1/24 dev d0 && ip address add 10.9.9.5/24 dev d0");
    client->check_own_address();
    EXPECT_EQ(send_batch(*client), Status::kRefused);
    EXPECT_EQ(own_of(*client), before);
  });
}

TEST(UdpOwnAddressTest, the_socket_stays_on_its_interface) {
  with_silent_neighbour([] {
    const auto client = open_udp({.connect = "10.9.9.2:4791", .bind_device = "d0"});
    run("ip address del 10.9.9.1/24 dev d0 && ip address add 10.9.9.5/24 dev d0");
    EXPECT_EQ(send_batch(*client), Status::kSent);
    EXPECT_EQ(host_of(*client), "10.9.9.5");
    std::array<char, IFNAMSIZ> device{};
    socklen_t bytes = device.size();
    ASSERT_EQ(getsockopt(client->fd(), SOL_SOCKET, SO_BINDTODEVICE, device.data(), &bytes), 0);
    EXPECT_STREQ(device.data(), "d0");
  });
}

// The way that is left leads through the interface that the carrier makes: the fabric would run
// over itself.
TEST(UdpOwnAddressTest, the_socket_never_takes_the_carried_interface) {
  for (const std::string own_device : {"", "t0"}) {
    with_silent_neighbour([&own_device] {
      run("ip link add t0 type bridge && ip address add 10.8.8.1/24 dev t0 && ip link set t0 up");
      run("ip route add default dev t0");
      const auto client = open_udp({.connect = "10.9.9.2:4791", .own_device = own_device});
      EXPECT_EQ(host_of(*client), "10.9.9.1");
      run("ip address del 10.9.9.1/24 dev d0");
      EXPECT_EQ(send_batch(*client), own_device.empty() ? Status::kSent : Status::kRefused);
      EXPECT_EQ(host_of(*client), own_device.empty() ? "10.8.8.1" : "0.0.0.0");
    });
  }
}

// The kernel may deliver what is sent over the loopback a moment later.
std::optional<Underlay::Received> soon(UdpUnderlay& underlay) {
  pollfd entry{underlay.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 60'000), 1);
  return underlay.receive();
}

TEST(UdpOwnAddressTest, B_07_the_other_end_moves_also_to_the_other_family) {
  const auto first = open_udp({.bind = "127.0.0.1:0"});
  const auto second = open_udp({.bind = "[::1]:0"});
  const auto client = open_udp({.connect = first->name_of(first->local_address())});
  const PeerAddress known_as = client->connected_to();
  const int descriptor = client->fd();
  EXPECT_EQ(send_batch(*client), Status::kSent);
  EXPECT_TRUE(soon(*first));

  ASSERT_TRUE(client->move_to(second->local_address()));
  EXPECT_EQ(client->fd(), descriptor);
  EXPECT_EQ(client->connected_to(), known_as);
  EXPECT_EQ(client->name_of(known_as), second->name_of(second->local_address()));
  EXPECT_EQ(send_batch(*client), Status::kSent);
  const auto received = soon(*second);
  ASSERT_TRUE(received);
  EXPECT_EQ(second->send(received->from, pattern(100, 1), 100), Status::kSent);
  const auto reply = soon(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->from, known_as);
  EXPECT_EQ(client->path_kind(known_as), PathKind::kMemory);
  // The loopback's MTU, less the headers of IPv6 and UDP.
  EXPECT_EQ(client->datagram_bytes_max(known_as), 65536U - 48U);
}

TEST(UdpOwnAddressTest, B_06_to_a_peer_that_is_awaited_nothing_is_sent_before_it_is_found) {
  const auto peer = open_udp({.bind = "127.0.0.1:0"});
  const auto client = open_udp({.connect = "0.0.0.0:4791", .is_awaited = true});
  EXPECT_EQ(send_batch(*client), Status::kRefused);
  client->check_own_address();
  EXPECT_EQ(host_of(*client), "0.0.0.0");
  EXPECT_FALSE(client->receive());

  ASSERT_TRUE(client->move_to(peer->local_address()));
  EXPECT_EQ(send_batch(*client), Status::kSent);
  const auto received = soon(*peer);
  ASSERT_TRUE(received);
  EXPECT_EQ(peer->send(received->from, pattern(100, 1), 100), Status::kSent);
  const auto reply = soon(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->from, client->connected_to());
}

}  // namespace splitnic::fabric::udp_own_address_test
