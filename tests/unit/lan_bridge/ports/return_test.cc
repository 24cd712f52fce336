// An interface that was deleted, or that was not there, and is back: packet: and pcap: use it
// through the packet sockets that another process has opened. Here the test is that process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include <functional>

#include "lan_bridge/ports/packet_port.h"
#include "lan_bridge/ports/packet_socket.h"
#include "lan_bridge/ports/port_factory.h"
#include "tests/support/open_lan_port.h"
#include "tests/unit/lan_bridge/queue_harness.h"

namespace splitnic::lan::return_test {

using frame_builder::Bytes;
using frame_builder::make_frame;
using namespace port_harness;
using namespace queue_harness;

base::SystemClock system_clock;

Ports open_ports(const std::string& spec, const PortOptions& options, std::uint32_t queues) {
  auto ports = support::open_lan_queues(spec, options, system_clock, queues);
  EXPECT_TRUE(ports) << ports.error().text();
  return std::move(*ports);
}
void on_every_kind(const std::function<void(const std::string& spec)>& body) {
  for (const std::string spec : {"packet:vb", "pcap:vb", "pcap:vb,inject=pcap"}) {
    SCOPED_TRACE(spec);
    on_veth([&] { body(spec); });
  }
}

void plug_in() {
  run("ip link add va type veth peer name vb && ip link set va up && ip link set vb up");
}

std::vector<base::UniqueFd> sockets_of(const PortOptions& options, std::uint32_t queues) {
  std::vector<base::UniqueFd> out;
  for (const auto& port : open_ports("packet:vb", options, queues)) {
    out.emplace_back(::fcntl(port->fd(), F_DUPFD_CLOEXEC, 0));
  }
  return out;
}

void bring_back(const Ports& ports, const PortOptions& options) {
  auto sockets = sockets_of(options, static_cast<std::uint32_t>(ports.size()));
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ASSERT_TRUE(ports[i]->can_return());
    const auto back = ports[i]->return_by(std::move(sockets[i]));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_GE(ports[i]->fd(), 0);
    EXPECT_EQ(ports[i]->write_fd(), ports[i]->fd());
    EXPECT_FALSE(ports[i]->is_gone());
    EXPECT_TRUE(ports[i]->state().admin_up);
  }
}

std::size_t sum(const std::vector<std::vector<Bytes>>& queues) {
  std::size_t frames = 0;
  for (const auto& queue : queues) frames += queue.size();
  return frames;
}

// Each queue has its flows, both ways, and each frame is at one queue.
void expect_traffic(const Ports& ports) {
  auto lan = *PacketPort::open({.interface = "va"});
  const auto flows = flows_of_every_kind(32);
  write_all(*lan, frames_of(flows, 4));
  expect_spread(take_of_all(ports, flows.size() * 4), flows, 4);
  Inbox inbox(*lan);
  for (const auto& port : ports) {
    const std::vector<Bytes> sent{make_frame({}), make_frame({.is_ip6 = true, .is_udp = true})};
    write_all(*port, sent);
    EXPECT_EQ(rebuilt(inbox.take(3, true)), sent);
  }
}

// From plugging in to traffic.
void expect_return(const Ports& ports) {
  plug_in();
  for (const auto& port : ports) port->state();
  for (const auto& port : ports) EXPECT_TRUE(port->is_back());
  bring_back(ports, {});
  run("ip -d link show vb | grep -q 'promiscuity 1 '");
  expect_traffic(ports);
}

TEST(ReturnTest, B_05_an_interface_that_is_back_is_used_by_all_queues) {
  on_every_kind([](const std::string& spec) {
    const Ports ports = open_ports(spec, {}, 2);
    expect_traffic(ports);
    for (int round = 0; round < 3; ++round) {
      run("ip link del vb");
      for (const auto& port : ports) EXPECT_FALSE(port->state().link_up);
      expect_return(ports);
    }
  });
}

TEST(ReturnTest, B_05_a_port_may_begin_before_its_interface) {
  in_namespace([] {
    const Ports ports = expect_queues(control::parse_lan_port("pcap:vb").value(), {}, 2).value();
    EXPECT_EQ(ports[0]->name(), "pcap:vb");
    for (const auto& port : ports) {
      EXPECT_TRUE(port->is_gone());
      EXPECT_FALSE(port->state().link_up);
      port->share_output(true);
      const auto frames = frames_of(flows_of_every_kind(2), 1);
      const base::Bytes frame = frames.front();
      EXPECT_EQ(port->write({&frame, 1}), 1U);
      EXPECT_EQ(counters_of(*port)["tx.drop.down"], 1U);
    }
    EXPECT_EQ(sum(take_of_all(ports, 0)), 0U);
    expect_return(ports);
  });
}

// The datagrams of the fabric, the filter of an owner and the offloads.
TEST(ReturnTest, B_05_what_was_set_before_is_in_force_again) {
  const PortOptions options{.exclude = {{7471}}, .promiscuous = false};
  on_every_kind([&options](const std::string& spec) {
    const Ports ports = open_ports(spec, options, 1);
    const MacAddress group{0x33, 0x33, 0, 0, 0, 7};
    ASSERT_TRUE(ports[0]->set_receive_filter({.multicast = {group}}));
    ASSERT_TRUE(ports[0]->set_offloads(kOffloadVnet));
    const std::uint32_t offloads = ports[0]->offloads();
    EXPECT_NE(offloads, kOffloadsAll);
    run("ip link del vb");
    ports[0]->state();
    plug_in();
    ports[0]->state();
    bring_back(ports, options);
    run("ip maddr show dev vb | grep -q 33:33:00:00:00:07");
    run("ip -d link show vb | grep -q 'promiscuity 0 '");
    EXPECT_EQ(ports[0]->offloads(), offloads);
    auto lan = *PacketPort::open({.interface = "va"});
    const MacAddress own = ports[0]->state().mac;
    write_all(*lan, {make_frame({.is_udp = true, .port = 7471, .destination = own}),
                     make_frame({.is_udp = true, .port = 7472, .destination = own})});
    EXPECT_EQ(sum(take_of_all(ports, 0)), 1U);
  });
}

TEST(ReturnTest, B_05_what_is_no_socket_of_the_interface_is_refused_and_the_port_stays_gone) {
  on_every_kind([](const std::string& spec) {
    const Ports ports = open_ports(spec, {}, 1);
    run("ip link del vb");
    ports[0]->state();
    const auto refuses = [&](base::UniqueFd fd) {
      EXPECT_FALSE(ports[0]->return_by(std::move(fd)));
      EXPECT_TRUE(ports[0]->is_gone());
    };
    refuses(base::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
    refuses(base::UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
    refuses(base::UniqueFd());
    plug_in();
    auto old = sockets_of({}, 1);
    run("ip link del vb");
    plug_in();
    refuses(std::move(old[0]));
    auto other = *PacketPort::open({.interface = "va"});
    refuses(base::UniqueFd(::fcntl(other->fd(), F_DUPFD_CLOEXEC, 0)));
    ports[0]->state();
    bring_back(ports, {});
    expect_traffic(ports);
  });
}

// A socket whose filter cannot be replaced, and one that has no vnet header.
std::vector<base::UniqueFd> unusable_sockets(const PortOptions& options) {
  auto sockets = sockets_of(options, 1);
  const int on = 1;
  EXPECT_TRUE(set_option(sockets[0].get(), SOL_SOCKET, SO_LOCK_FILTER, on));
  sockets.emplace_back(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_TRUE(bind_packet_socket(sockets[1].get(), ::if_nametoindex("vb"), 0));
  return sockets;
}

TEST(ReturnTest, B_05_a_socket_that_cannot_be_used_leaves_the_port_gone_with_its_descriptors) {
  const PortOptions options{.exclude = {{7471}}};
  on_every_kind([&options](const std::string& spec) {
    const Ports ports = open_ports(spec, options, 1);
    run("ip link del vb");
    ports[0]->state();
    const int fd = ports[0]->fd();
    const int write_fd = ports[0]->write_fd();
    plug_in();
    auto lan = *PacketPort::open({.interface = "va"});
    for (base::UniqueFd& socket : unusable_sockets(options)) {
      EXPECT_FALSE(ports[0]->return_by(std::move(socket)));
      EXPECT_TRUE(ports[0]->is_gone());
      EXPECT_FALSE(ports[0]->state().link_up);
      EXPECT_TRUE(ports[0]->is_back());
      ASSERT_EQ(ports[0]->fd(), fd);
      ASSERT_EQ(ports[0]->write_fd(), write_fd);
      // It would have a descriptor that was closed.
      const auto next = *PacketPort::open({.interface = "vb"});
      write_all(*ports[0], {make_frame({})});
      EXPECT_EQ(sum(take_of_all(ports, 0)), 0U);
    }
    EXPECT_EQ(sum_of(counters_of(*ports[0]), "tx.drop."), 2U);
    EXPECT_TRUE(Inbox(*lan).take_all().empty());
    bring_back(ports, options);
    expect_traffic(ports);
  });
}

TEST(ReturnTest, a_port_of_another_kind_takes_no_socket) {
  in_namespace([] {
    const auto port = support::open_lan_port("tap:vt", {}, system_clock).value();
    EXPECT_FALSE(port->can_return());
    EXPECT_FALSE(port->return_by(base::UniqueFd()));
  });
}

}  // namespace splitnic::lan::return_test
