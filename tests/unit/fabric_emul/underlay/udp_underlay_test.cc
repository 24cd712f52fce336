// Real sockets on the loopback, and in a network namespace of the test's own where one is needed.
#include "fabric_emul/underlay/udp_underlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>

#include "fabric_emul/underlay/udp_address.h"
#include "tests/support/network_namespace.h"
#include "tests/unit/fabric_emul/link/link_world.h"

namespace splitnic::fabric::udp_underlay_test {

using namespace link_world;
using support::run;
using support::with_silent_neighbour;
using ::testing::HasSubstr;

std::unique_ptr<UdpUnderlay> open(const UdpConfig& config) {
  auto made = UdpUnderlay::open(config);
  if (!made) {
    ADD_FAILURE() << made.error().text();
    return nullptr;
  }
  return std::move(*made);
}

std::string text_of(const UdpUnderlay& underlay) {
  return underlay.name_of(underlay.local_address());
}

// For what must come, however busy the machine is.
constexpr int kPatienceMs = 60'000;

bool wait_for(const UdpUnderlay& underlay, short events) {
  pollfd entry{underlay.fd(), events, 0};
  return ::poll(&entry, 1, kPatienceMs) == 1 && (entry.revents & events) != 0;
}

std::uint32_t loopback_index() { return ::if_nametoindex("lo"); }

// Everything up to `bytes` bytes, with the datagrams counted by their strides.
struct Collected {
  std::vector<std::byte> bytes;
  std::vector<std::size_t> datagrams;
  std::size_t batches = 0;
  PeerAddress from;
};
Collected collect(UdpUnderlay& underlay, std::size_t bytes) {
  Collected all;
  while (all.bytes.size() < bytes && wait_for(underlay, POLLIN)) {
    while (const auto batch = underlay.receive()) {
      ++all.batches;
      all.from = batch->from;
      all.bytes.insert(all.bytes.end(), batch->bytes.begin(), batch->bytes.end());
      for (std::size_t at = 0; at < batch->bytes.size(); at += batch->stride) {
        all.datagrams.push_back(std::min(batch->stride, batch->bytes.size() - at));
      }
    }
  }
  return all;
}

// A listener and a client connected to it.
struct Sockets {
  explicit Sockets(const std::string& host, UdpConfig client_config = {}, bool gather = true) {
    UdpConfig config;
    config.bind = host + ":0";
    config.gather = gather;
    listener = open(config);
    client_config.connect = text_of(*listener);
    client = open(client_config);
  }
  std::unique_ptr<UdpUnderlay> listener, client;
};

void expect_batch_crosses(Sockets& s) {
  const auto batch = pattern(10 * 1436 + 100, 3);
  ASSERT_EQ(s.client->send(s.client->connected_to(), batch, 1436), Underlay::SendStatus::kSent);
  const Collected got = collect(*s.listener, batch.size());
  EXPECT_EQ(got.bytes, batch);
  std::vector<std::size_t> expected(10, 1436);
  expected.push_back(100);
  EXPECT_EQ(got.datagrams, expected);
  EXPECT_EQ(got.from.bytes, s.client->local_address().bytes);
  // And back to where it came from.
  ASSERT_EQ(s.listener->send(got.from, batch, 1436), Underlay::SendStatus::kSent);
  EXPECT_EQ(collect(*s.client, batch.size()).bytes, batch);
}

TEST(UdpUnderlayTest, S000_39_a_batch_is_one_call_each_way_with_gso_and_gro) {
  Sockets s("127.0.0.1");
  expect_batch_crosses(s);
  EXPECT_TRUE(s.client->segments());
  const auto batch = pattern(45 * 1436, 9);
  s.client->send(s.client->connected_to(), batch, 1436);
  EXPECT_EQ(collect(*s.listener, batch.size()).batches, 1U);
}

TEST(UdpUnderlayTest, crosses_over_ipv6) {
  Sockets s("[::1]");
  expect_batch_crosses(s);
  EXPECT_THAT(text_of(*s.listener), HasSubstr("[::1]:"));
}

TEST(UdpUnderlayTest, crosses_without_gso_and_without_gro) {
  UdpConfig config;
  config.segment = false;
  Sockets s("127.0.0.1", config, false);
  expect_batch_crosses(s);
  EXPECT_FALSE(s.client->segments());
}

TEST(UdpUnderlayTest, one_socket_serves_ipv4_and_ipv6) {
  UdpConfig any;
  any.bind = ":0";
  const auto listener = open(any);
  const std::string port =
      std::to_string(ntohs(UdpAddress(listener->local_address()).v6().sin6_port));
  for (const std::string host : {"127.0.0.1", "[::1]"}) {
    UdpConfig config;
    config.connect = host + ":" + port;
    const auto client = open(config);
    const auto batch = pattern(3000, 1);
    ASSERT_EQ(client->send(client->connected_to(), batch, 1436), Underlay::SendStatus::kSent);
    const Collected got = collect(*listener, batch.size());
    EXPECT_EQ(got.bytes, batch);
    EXPECT_EQ(listener->name_of(got.from), text_of(*client));
    ASSERT_EQ(listener->send(got.from, batch, 1436), Underlay::SendStatus::kSent);
    EXPECT_EQ(collect(*client, batch.size()).bytes, batch);
    // Loopback carries 65536 bytes with the headers of the family that is really used.
    EXPECT_EQ(listener->datagram_bytes_max(got.from), host[0] == '[' ? 65488U : 65507U);
  }
}

TEST(UdpUnderlayTest, refused_segmentation_is_given_up_for_good) {
  Sockets s("127.0.0.1");
  // The kernel segments no datagrams without checksum.
  const int on = 1;
  ASSERT_EQ(setsockopt(s.client->fd(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)), 0);
  ASSERT_TRUE(s.client->segments());
  expect_batch_crosses(s);
  EXPECT_FALSE(s.client->segments());
}

TEST(UdpUnderlayTest, largest_batches_cross_whole) {
  Sockets s("127.0.0.1");
  const auto one = pattern(65000, 1);
  ASSERT_EQ(s.client->send(s.client->connected_to(), one, 65000), Underlay::SendStatus::kSent);
  EXPECT_EQ(collect(*s.listener, one.size()).bytes, one);
  const auto many = pattern(64 * 1000, 2);
  ASSERT_EQ(s.client->send(s.client->connected_to(), many, 1000), Underlay::SendStatus::kSent);
  EXPECT_EQ(collect(*s.listener, many.size()).datagrams.size(), 64U);
  EXPECT_TRUE(s.client->segments());
}

TEST(UdpUnderlayTest, a_peer_that_is_not_there_is_not_fatal) {
  UdpConfig config;
  {
    UdpConfig gone;
    gone.bind = "127.0.0.1:0";
    config.connect = text_of(*open(gone));
  }
  const auto client = open(config);
  const auto datagram = pattern(100, 1);
  for (int i = 0; i < 5; ++i) {  // every second one would report ECONNREFUSED
    const auto status = client->send(client->connected_to(), datagram, 100);
    EXPECT_TRUE(status == Underlay::SendStatus::kSent || status == Underlay::SendStatus::kRefused);
    EXPECT_FALSE(client->receive().has_value());
  }
  UdpConfig back;
  back.bind = config.connect;
  const auto listener = open(back);
  client->send(client->connected_to(), datagram, 100);
  EXPECT_EQ(collect(*listener, 100).bytes, datagram);
}

TEST(UdpUnderlayTest, B_23_what_the_system_reports_of_the_path_is_known_until_the_peer_is_heard) {
  Sockets s("127.0.0.1");
  const auto datagram = pattern(100, 1);
  UdpConfig again;
  again.bind = text_of(*s.listener);
  EXPECT_EQ(s.client->last_error(), 0);
  s.listener.reset();
  s.client->send(s.client->connected_to(), datagram, 100);
  EXPECT_TRUE(wait_for(*s.client, POLLERR));
  EXPECT_FALSE(s.client->receive().has_value());
  EXPECT_EQ(s.client->last_error(), ECONNREFUSED);
  s.listener = open(again);
  s.listener->send(s.client->local_address(), datagram, 100);
  EXPECT_EQ(collect(*s.client, 100).bytes, datagram);
  EXPECT_EQ(s.client->last_error(), 0);
}

TEST(UdpUnderlayTest, an_error_of_one_datagram_does_not_hide_input) {
  Sockets s("127.0.0.1");
  const auto datagram = pattern(100, 1);
  EXPECT_FALSE(s.listener->receive().has_value());
  const PeerAddress client = s.client->local_address();
  ASSERT_EQ(s.listener->send(client, datagram, 100), Underlay::SendStatus::kSent);
  const std::string at = text_of(*s.listener);
  s.listener.reset();
  s.client->send(s.client->connected_to(), datagram, 100);  // is refused
  EXPECT_EQ(collect(*s.client, 100).bytes, datagram);
}

TEST(UdpUnderlayTest, empty_datagrams_are_taken_and_hold_nothing) {
  Sockets s("127.0.0.1");
  ASSERT_EQ(::send(s.client->fd(), "", 0, 0), 0);
  ASSERT_TRUE(wait_for(*s.listener, POLLIN));
  const auto batch = s.listener->receive();
  ASSERT_TRUE(batch.has_value());
  EXPECT_TRUE(batch->bytes.empty());
}

TEST(UdpUnderlayTest, buffers_hold_4_mib_or_more) {
  ASSERT_EQ(::geteuid(), 0U) << "this test needs CAP_NET_ADMIN";
  Sockets s("127.0.0.1");
  EXPECT_GE(s.listener->receive_buffer_bytes(), 4U << 20);
}

std::string error_of(const UdpConfig& config) {
  const auto made = UdpUnderlay::open(config);
  return made ? "" : made.error().text();
}

TEST(UdpUnderlayTest, errors_name_what_failed_and_what_to_do) {
  Sockets s("127.0.0.1");
  UdpConfig config;
  config.bind = text_of(*s.listener);
  EXPECT_THAT(error_of(config), HasSubstr("binding to " + config.bind + ": the address is in use"));
  config.bind = "192.0.2.1:0";
  EXPECT_THAT(error_of(config), HasSubstr("no interface of this machine has this address"));
  config = {};
  config.connect = "no-such-host.invalid:4791";
  EXPECT_THAT(error_of(config), HasSubstr("no address found for \"no-such-host.invalid:4791\""));
  for (const char* text : {"", "10.0.0.1", "::1:4791", "[::1", "[::1]4791", "10.0.0.1:"}) {
    const auto address = UdpUnderlay::resolve(text);
    ASSERT_FALSE(address) << text;
    EXPECT_THAT(address.error().text(), HasSubstr("is not an address: write host:port")) << text;
  }
  EXPECT_THAT(UdpUnderlay::resolve(":4791").error().text(), HasSubstr("names no host"));
  config = {};
  config.bind = "127.0.0.1:0";
  config.bind_device = "no-such-if0";
  EXPECT_THAT(error_of(config), HasSubstr("interface no-such-if0"));
}

TEST(UdpUnderlayTest, addresses_print_as_they_are_written) {
  for (const char* text : {"10.0.0.1:4791", "[2001:db8::1]:4791", "[::]:1"}) {
    const auto address = UdpUnderlay::resolve(text);
    ASSERT_TRUE(address);
    EXPECT_EQ(UdpAddress(*address).text(), text);
  }
}

// Two ports over real sockets: INIT, then cells small and large. Time passes only while nothing is
// to be read, so a busy machine makes no peer look silent.
void expect_ports_talk(const std::string& host, const UdpConfig& client_config, bool segments) {
  Sockets s(host, client_config);
  End a(*s.listener, config_of(0xA, 100, true));
  PortConfig small = config_of(0xB, 200);
  small.mcp_wanted = 1364;
  End b(*s.client, small);
  base::ManualClock clock;
  b.port.connect(s.client->connected_to(), clock.now());
  const auto pump_until = [&](auto done) {
    const base::Time end = clock.now() + 2s;
    while (!done() && clock.now() < end) {
      bool received = a.receive(clock.now());
      received |= b.receive(clock.now());
      a.port.on_time(clock.now());
      b.port.on_time(clock.now());
      a.port.flush(clock.now());
      b.port.flush(clock.now());
      pollfd both[] = {{s.listener->fd(), POLLIN, 0}, {s.client->fd(), POLLIN, 0}};
      if (!received && ::poll(both, 2, 1) == 0) clock.advance(1ms);
    }
    return done();
  };
  ASSERT_TRUE(pump_until([&] { return a.watch.link != nullptr && b.watch.link != nullptr; }));
  Cells sent;
  for (unsigned i = 0; i < 200; ++i) {
    sent.push_back(pattern(i % 2 == 0 ? 1420 : 64, i));
    ASSERT_TRUE(write(b.link(), sent.back()));
    ASSERT_TRUE(write(a.link(), sent.back()));
  }
  ASSERT_TRUE(pump_until([&] { return a.cells.size() == 200 && b.cells.size() == 200; }));
  EXPECT_EQ(a.cells, sent);
  EXPECT_EQ(b.cells, sent);
  EXPECT_EQ(s.client->segments(), segments);
}

// A connected client receives only from the address that it sent to, whatever the routes would
// choose.
TEST(UdpUnderlayTest, a_reply_comes_from_the_address_that_got_the_request) {
  for (const char* bind : {"0.0.0.0:0", ":0"}) {
    for (const bool segment : {true, false}) {
      UdpConfig any;
      any.bind = bind;
      any.segment = segment;
      const auto listener = open(any);
      const std::string port =
          std::to_string(ntohs(UdpAddress(listener->local_address()).v6().sin6_port));
      std::vector<PeerAddress> seen;
      for (const std::string host : {"127.0.0.5", "127.0.0.1", "127.0.0.6"}) {
        UdpConfig config;
        config.connect = host + ":" + port;
        config.bind = "127.0.0.9:0";
        const auto client = open(config);
        const auto batch = pattern(3000, 1);
        ASSERT_EQ(client->send(client->connected_to(), batch, 1436), Underlay::SendStatus::kSent);
        const Collected got = collect(*listener, batch.size());
        ASSERT_EQ(listener->send(got.from, batch, 1436), Underlay::SendStatus::kSent);
        ASSERT_EQ(listener->send(got.from, base::Bytes(batch).first(100), 1436),
                  Underlay::SendStatus::kSent);
        EXPECT_EQ(collect(*client, batch.size() + 100).bytes.size(), batch.size() + 100)
            << bind << " " << host;
        EXPECT_EQ(listener->datagram_bytes_max(got.from), 65507U);
        seen.push_back(got.from);
      }
      EXPECT_NE(seen[0], seen[1]);
    }
  }
}

TEST(UdpUnderlayTest, S000_39_ports_talk_over_ipv4) { expect_ports_talk("127.0.0.1", {}, true); }
TEST(UdpUnderlayTest, S000_39_ports_talk_over_ipv6) { expect_ports_talk("[::1]", {}, true); }
TEST(UdpUnderlayTest, S000_39_ports_talk_without_gso) {
  UdpConfig config;
  config.segment = false;
  expect_ports_talk("127.0.0.1", config, false);
}

void expect_resumes_when_blocked(bool segment) {
  with_silent_neighbour([segment] {
    run("tc qdisc replace dev d0 root tbf rate 8kbit burst 2kb limit 100mb");
    UdpConfig config;
    config.connect = "10.9.9.2:4791";
    config.buffer_bytes = 200'000;
    config.segment = segment;
    const auto client = open(config);
    const auto batch = pattern(45 * 1436, 1);
    int sent = 0;
    while (sent < 1000 &&
           client->send(client->connected_to(), batch, 1436) == Underlay::SendStatus::kSent) {
      ++sent;
    }
    EXPECT_GT(sent, 0);
    EXPECT_LT(sent, 1000);
    EXPECT_EQ(client->send(client->connected_to(), batch, 1436), Underlay::SendStatus::kBlocked);
    run("tc qdisc del dev d0 root");
    EXPECT_TRUE(wait_for(*client, POLLOUT));
    EXPECT_EQ(client->send(client->connected_to(), batch, 1436), Underlay::SendStatus::kSent);
  });
}

TEST(UdpUnderlayTest, a_full_socket_blocks_and_resumes) { expect_resumes_when_blocked(true); }
TEST(UdpUnderlayTest, a_full_socket_blocks_and_resumes_without_gso) {
  expect_resumes_when_blocked(false);
}

// A socket at every address.
TEST(UdpUnderlayTest, L_11_datagrams_of_a_lan_interface_are_dropped_and_counted) {
  for (const bool is_v6 : {false, true}) {
    const std::string any = is_v6 ? "[::]:0" : "0.0.0.0:0";
    const auto open_without = [&](std::uint32_t interface) {
      UdpConfig config;
      config.bind = any;
      config.without_interfaces = {interface};
      return open(config);
    };
    const auto strict = open_without(loopback_index());
    const auto open_to_all = open_without(loopback_index() + 1000);
    ASSERT_TRUE(strict && open_to_all);
    UdpConfig anywhere;
    anywhere.bind = "127.0.0.1:0";
    const auto sender = open(anywhere);
    ASSERT_TRUE(sender);
    const auto send_to = [&](const UdpUnderlay& to) {
      const std::string text = text_of(to);
      const auto at =
          UdpUnderlay::resolve("127.0.0.1" + text.substr(text.rfind(':')), AF_INET).value();
      EXPECT_EQ(sender->send(at, pattern(100, 1), 100), Underlay::SendStatus::kSent);
    };
    send_to(*strict);
    ASSERT_TRUE(wait_for(*strict, POLLIN));
    const auto dropped = strict->receive();
    ASSERT_TRUE(dropped) << "more may wait behind it";
    EXPECT_TRUE(dropped->bytes.empty());
    EXPECT_EQ(strict->dropped_of_interfaces(), 1U);
    EXPECT_FALSE(strict->receive());
    send_to(*open_to_all);
    EXPECT_EQ(collect(*open_to_all, 100).bytes.size(), 100U);
    EXPECT_EQ(open_to_all->dropped_of_interfaces(), 0U);
  }
}

}  // namespace splitnic::fabric::udp_underlay_test
