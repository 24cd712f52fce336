// libpcap on a real veth with default offloads: super-frames, partial checksums and tags out of
// band arrive.
#include "lan_bridge/ports/pcap_port.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "lan_bridge/ports/packet_port.h"
#include "tests/unit/lan_bridge/port_harness.h"

namespace splitnic::lan::pcap_port_test {

using frame_builder::Bytes;
using frame_builder::ethernet_of;
using frame_builder::make_frame;
using frame_builder::payload_of;
using namespace port_harness;

struct Pair {
  std::unique_ptr<PacketPort> lan;
  std::unique_ptr<PcapPort> port;
};
Pair open_pair(const PcapOptions& options = {.interface = "vb"}) {
  auto lan = PacketPort::open({.interface = "va"});
  auto port = PcapPort::open(options);
  EXPECT_TRUE(lan) << lan.error().text();
  EXPECT_TRUE(port) << port.error().text();
  return {std::move(*lan), std::move(*port)};
}

TEST(PcapPortTest, super_frames_partial_checksums_and_tags_are_rebuilt) {
  on_veth([] {
    auto [lan, port] = open_pair();
    std::vector<Bytes> sent;
    for (const bool is_ip6 : {false, true}) {
      // Segments as long as the MTU allows: the size that the port reconstructs.
      const auto size = static_cast<std::uint16_t>(1500 - (is_ip6 ? 40 : 20) - 32);
      sent.push_back(make_frame({.is_ip6 = is_ip6, .payload_bytes = 60000, .gso_size = size}));
      sent.push_back(make_frame(
          {.is_ip6 = is_ip6, .tags = {0x2005}, .payload_bytes = 60000, .gso_size = size}));
      for (const bool is_udp : {false, true}) {
        sent.push_back(make_frame({.is_ip6 = is_ip6, .is_udp = is_udp, .is_partial = true}));
        sent.push_back(
            make_frame({.is_ip6 = is_ip6, .is_udp = is_udp, .tags = {0}, .is_partial = true}));
        sent.push_back(make_frame({.is_ip6 = is_ip6, .is_udp = is_udp, .tags = {100, 4094}}));
        sent.push_back(make_frame({.is_ip6 = is_ip6, .is_udp = is_udp}));
      }
    }
    sent.push_back(make_frame({.tags = {5}, .payload_bytes = 1500 - 52}));
    write_all(*lan, sent);
    const auto got = rebuilt(Inbox(*port).take(sent.size()));
    ASSERT_EQ(got.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(got[i], sent[i]) << i;
    expect_balance(*port, sent.size(), 0);
  });
}

TEST(PcapPortTest, frames_of_65535_to_65553_bytes_are_neither_cut_nor_dropped) {
  on_veth([] {
    auto [lan, port] = open_pair();
    run("ip link set va gso_max_size 131072");
    port->set_frame_bytes_max(65536);
    Inbox inbox(*port);
    for (std::size_t bytes = 65535; bytes <= 65553; ++bytes) {
      const Bytes sent =
          make_frame({.is_ip6 = true, .payload_bytes = bytes - 14 - 72, .gso_size = 1428});
      write_all(*lan, {sent});
      const auto got = rebuilt(inbox.take(2));
      ASSERT_EQ(got.size(), 2U) << bytes;
      const std::size_t first = payload_of(got[0]).size();
      EXPECT_EQ(first % 1428, 0U);
      EXPECT_TRUE(frame_builder::equal(payload_of(got[0]), payload_of(sent).first(first)));
      EXPECT_TRUE(frame_builder::equal(payload_of(got[1]), payload_of(sent).subspan(first)));
    }
    expect_balance(*port, 38, 0);
  });
}

TEST(PcapPortTest, the_units_own_fabric_datagrams_are_never_captured) {
  on_veth([] {
    auto [lan, port] =
        open_pair({.interface = "vb", .exclude = {{7471, "10.0.0.11"}, {7471, "fd00::b"}}});
    const Bytes other = make_frame({.is_udp = true, .port = 7472});
    write_all(*lan,
              {make_frame({.is_udp = true, .port = 7471}),
               make_frame({.is_ip6 = true, .is_udp = true, .port = 7471}),
               make_frame({.is_udp = true, .payload_bytes = 9000, .gso_size = 1400, .port = 7471}),
               other});
    EXPECT_EQ(Inbox(*port).take(4, true), std::vector<Bytes>{other});
  });
}

TEST(PcapPortTest, losses_are_counted_by_name) {
  on_veth([] {
    auto [lan, port] = open_pair({.interface = "vb", .buffer_bytes = 1U << 20});
    write_all(*lan, {make_frame({.is_udp = true, .payload_bytes = 9000, .gso_size = 1400})});
    EXPECT_TRUE(Inbox(*port).take_all().empty());
    EXPECT_EQ(counters_of(*port)["rx.drop.gso"],
              1U);  // merged datagrams are never forwarded as one
    write_all(*lan, std::vector<Bytes>(500, make_frame({})));
    const std::size_t got = Inbox(*port).take_all().size();
    EXPECT_LT(got, 500U);
    EXPECT_EQ(got + counters_of(*port)["rx.drop.kernel"], 500U);
    write_all(*port, {make_frame({.payload_bytes = 2000}), Bytes(20)});
    EXPECT_EQ(counters_of(*port)["tx.drop.too_long"], 1U);
    EXPECT_EQ(counters_of(*port)["tx.drop.short"], 1U);
    run("ip link set vb down");
    write_all(*port, {make_frame({})});
    EXPECT_EQ(counters_of(*port)["tx.drop.down"], 1U);
    EXPECT_FALSE(port->state().link_up);
    Inbox(*port).take_all();
    run("ip link set vb up");
    // The port works again once the interface is up (the other end needs a moment to notice).
    std::size_t later = 0;
    EXPECT_TRUE(eventually([&, &lan = lan, &port = port] {
      if (later == 0) write_all(*lan, {make_frame({})});
      return (later += Inbox(*port).take_all().size()) > 0;
    }));
    expect_balance(*port, got + later, 3);
  });
}

// Whoever waits for event_fd() must still learn of a change that came while frames were read.
TEST(PcapPortTest, reading_frames_takes_no_event_of_the_interface) {
  on_veth([] {
    auto port = *PcapPort::open({.interface = "va"});
    run("ip link set va mtu 1400");
    EXPECT_TRUE(Inbox(*port).take_all().empty());
    pollfd wait{port->event_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&wait, 1, 0), 1);
    EXPECT_EQ(port->state().mtu, 1400U);
  });
}

TEST(PcapPortTest, an_offload_switched_off_is_done_in_software) {
  on_veth([] {
    auto [lan, port] = open_pair();
    ASSERT_TRUE(port->set_offloads(0));
    write_all(*lan, {make_frame({.payload_bytes = 14480, .gso_size = 1448}),
                     make_frame({.is_udp = true, .is_partial = true})});
    const auto got = Inbox(*port).take(11);
    ASSERT_EQ(got.size(), 11U);
    for (const Bytes& frame : got) {
      EXPECT_EQ(VnetHeader::parse(frame), VnetHeader{});
      EXPECT_TRUE(verify_l4_checksum(ethernet_of(frame), *parse_frame(ethernet_of(frame))));
    }
  });
}

}  // namespace splitnic::lan::pcap_port_test
