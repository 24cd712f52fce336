// Frames that leave through a port of libpcap on a real veth, by either way of sending: whole
// through the packet socket, or as finished frames that fit the MTU through libpcap itself.
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <string>

#include "lan_bridge/ports/packet_port.h"
#include "lan_bridge/ports/packet_socket.h"
#include "lan_bridge/ports/pcap_port.h"
#include "tests/support/open_lan_port.h"
#include "tests/support/refuse_call.h"
#include "tests/unit/lan_bridge/port_harness.h"

namespace splitnic::lan::pcap_output_test {

using frame_builder::Bytes;
using frame_builder::make_frame;
using frame_builder::payload_of;
using namespace port_harness;
using support::Next;

constexpr std::array kInjections = {Injection::kPacket, Injection::kPcap};

struct Pair {
  std::unique_ptr<PacketPort> lan;
  std::unique_ptr<PcapPort> port;
};
Pair open_pair(Injection injection) {
  auto lan = PacketPort::open({.interface = "va"});
  auto port = PcapPort::open({.interface = "vb", .injection = injection});
  EXPECT_TRUE(lan) << lan.error().text();
  EXPECT_TRUE(port) << port.error().text();
  return {std::move(*lan), std::move(*port)};
}

// One of each: super-frames, partial checksums, finished frames, with tags and without.
std::vector<Bytes> of_every_kind() {
  std::vector<Bytes> out;
  for (const bool is_udp : {false, true}) {
    for (const bool is_ip6 : {false, true}) {
      out.push_back(make_frame({.is_ip6 = is_ip6,
                                .is_udp = is_udp,
                                .tags = {7},
                                .payload_bytes = 60000,
                                .gso_size = 1400}));
      out.push_back(make_frame(
          {.is_ip6 = is_ip6, .is_udp = is_udp, .payload_bytes = 30000, .gso_size = 1400}));
      out.push_back(make_frame({.is_ip6 = is_ip6, .is_udp = is_udp, .is_partial = true}));
      out.push_back(make_frame({.is_ip6 = is_ip6, .is_udp = is_udp, .tags = {100, 4094}}));
      out.push_back(make_frame({.is_ip6 = is_ip6, .is_udp = is_udp}));
    }
  }
  return out;
}

void expect_whole(PacketPort& lan, PcapPort& port) {
  const std::vector<Bytes> written = of_every_kind();
  write_all(port, written);
  const auto got = rebuilt(Inbox(lan).take(written.size()));
  ASSERT_EQ(got.size(), written.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], written[i]) << i;
  EXPECT_EQ(counters_of(port)["tx.split"], 0U);
  expect_balance(port, 0, written.size());
}

void expect_finished(PacketPort& lan, PcapPort& port) {
  const std::vector<Bytes> written = of_every_kind();
  write_all(port, written);
  const std::vector<Bytes> expected = finished(written);
  const auto got = Inbox(lan).take(expected.size());
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_FALSE(VnetHeader::parse(got[i]).needs_checksum()) << i;
    ASSERT_EQ(rebuilt(got[i]), expected[i]) << i;
    ASSERT_LE(got[i].size(), 12U + 14 + 4 + 1500);
  }
  expect_balance(port, 0, written.size());
}

TEST(PcapOutputTest, S001_28_super_frames_and_partial_checksums_leave_whole) {
  on_veth([] {
    auto [lan, port] = open_pair(Injection::kPacket);
    expect_whole(*lan, *port);
  });
}

TEST(PcapOutputTest, S001_28_injected_by_libpcap_they_leave_as_finished_frames_within_the_mtu) {
  on_veth([] {
    auto [lan, port] = open_pair(Injection::kPcap);
    EXPECT_EQ(port->write_fd(), port->fd());
    expect_finished(*lan, *port);
  });
}

TEST(PcapOutputTest, the_short_header_of_older_kernels_carries_the_same) {
  on_veth([] {
    auto lan = *PacketPort::open({.interface = "va"});
    support::refuse_call(SYS_setsockopt, 1, SOL_PACKET, Next::kIs, PACKET_VNET_HDR_SZ);
    auto port = *PcapPort::open({.interface = "vb"});
    expect_whole(*lan, *port);
  });
}

TEST(PcapOutputTest,
     S001_28_on_a_kernel_without_the_vnet_header_libpcap_sends_and_it_is_logged_once) {
  on_veth([] {
    auto lan = *PacketPort::open({.interface = "va"});
    support::refuse_call(SYS_setsockopt, 1, SOL_PACKET, Next::kIs, PACKET_VNET_HDR_SZ);
    support::refuse_call(SYS_setsockopt, 1, SOL_PACKET, Next::kIs, PACKET_VNET_HDR);
    ::testing::internal::CaptureStderr();
    auto port = *PcapPort::open({.interface = "vb"});
    EXPECT_EQ(port->write_fd(), port->fd());
    expect_finished(*lan, *port);
    const std::string log = ::testing::internal::GetCapturedStderr();
    const std::string line =
        "pcap:vb: this kernel has no PACKET_VNET_HDR: Invalid argument: libpcap sends, and "
        "super-frames are segmented in software";
    EXPECT_NE(log.find(line), std::string::npos) << log;
    EXPECT_EQ(log.find("libpcap sends"), log.rfind("libpcap sends")) << log;
  });
}

// The kernel does not even offer them to the capture, from whatever socket they come.
TEST(PcapOutputTest, what_is_sent_is_not_captured) {
  for (const Injection injection : kInjections) {
    on_veth([injection] {
      auto [lan, port] = open_pair(injection);
      const std::vector<Bytes> written = of_every_kind();
      write_all(*port, written);
      const Bytes other = make_frame({.seed = 99});
      write_all(*lan, {other});
      EXPECT_EQ(rebuilt(Inbox(*port).take(2, true)), std::vector<Bytes>{other});
      tpacket_stats_v3 seen{};
      socklen_t bytes = sizeof seen;
      ASSERT_EQ(::getsockopt(port->fd(), SOL_PACKET, PACKET_STATISTICS, &seen, &bytes), 0);
      EXPECT_EQ(seen.tp_packets, 1U);
    });
  }
}

// Without PACKET_IGNORE_OUTGOING libpcap leaves them out, after the copy.
TEST(PcapOutputTest, what_is_sent_is_not_captured_on_an_older_kernel_either) {
  on_veth([] {
    support::refuse_call(SYS_setsockopt, 1, SOL_PACKET, Next::kIs, PACKET_IGNORE_OUTGOING);
    auto port = *PcapPort::open({.interface = "vb"});
    write_all(*port, of_every_kind());
    EXPECT_TRUE(Inbox(*port).take_all().empty());
  });
}

TEST(PcapOutputTest, the_socket_that_sends_receives_nothing) {
  on_veth([] {
    auto [lan, port] = open_pair(Injection::kPacket);
    const std::vector<Bytes> sent(10, make_frame({}));
    write_all(*lan, sent);
    EXPECT_EQ(rebuilt(Inbox(*port).take(10)), sent);
    std::byte room[64];
    EXPECT_EQ(::recv(port->write_fd(), room, sizeof room, 0), -1);
    EXPECT_EQ(errno, EAGAIN);
  });
}

// No other frame is lost with it, and a capture on the interface sees every frame that leaves.
TEST(PcapOutputTest, S001_25_a_frame_longer_than_the_mtu_amid_a_batch_drops_alone) {
  for (const Injection injection : kInjections) {
    on_veth([injection] {
      auto [lan, port] = open_pair(injection);
      auto watcher = *PacketPort::open({.interface = "vb"});
      ASSERT_TRUE(set_option(watcher->fd(), SOL_PACKET, PACKET_IGNORE_OUTGOING, 0));
      const Bytes super = make_frame({.payload_bytes = 2600, .gso_size = 1400});
      const Bytes partial = make_frame({.is_udp = true, .is_partial = true});
      write_all(*port, {make_frame({.seed = 1}), make_frame({.payload_bytes = 2000}), super,
                        partial, make_frame({.payload_bytes = 3200}), make_frame({.seed = 2})});
      std::vector<Bytes> expected{make_frame({.seed = 1}), super, partial, make_frame({.seed = 2})};
      if (injection == Injection::kPcap) expected = finished(expected);
      EXPECT_EQ(rebuilt(Inbox(*lan).take(6, true)), expected);
      EXPECT_EQ(rebuilt(Inbox(*watcher).take(6, true)), expected);
      EXPECT_EQ(counters_of(*port)["tx.drop.too_long"], 2U);
      EXPECT_EQ(counters_of(*port)["tx.frames"], expected.size());
      expect_balance(*port, 0, 6);
    });
  }
}

TEST(PcapOutputTest, S001_25_segments_longer_than_the_mtu_are_dropped_by_name) {
  on_veth([] {
    auto [lan, port] = open_pair(Injection::kPcap);
    write_all(*port, {make_frame({.payload_bytes = 3200, .gso_size = 1600}), make_frame({})});
    EXPECT_EQ(rebuilt(Inbox(*lan).take(3, true)), std::vector<Bytes>{make_frame({})});
    EXPECT_EQ(counters_of(*port)["tx.drop.too_long"], 2U);
    expect_balance(*port, 0, 2);
  });
}

// More datagrams in one frame than the kernel creates (UDP_MAX_SEGMENTS: 128, 64 before 6.9).
TEST(PcapOutputTest, S001_25_a_super_frame_that_the_kernel_refuses_is_cut_here_and_logged_once) {
  on_veth([] {
    auto [lan, port] = open_pair(Injection::kPacket);
    const Bytes refused = make_frame({.is_udp = true, .payload_bytes = 15000, .gso_size = 100});
    const Bytes taken = make_frame({.is_udp = true, .payload_bytes = 5600, .gso_size = 1400});
    ::testing::internal::CaptureStderr();
    write_all(*port, {refused, taken, refused});
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("pcap:vb: the kernel refuses a super-frame"), std::string::npos) << log;
    EXPECT_EQ(log.find("refuses"), log.rfind("refuses")) << log;
    auto expected = finished(std::vector<Bytes>{refused});
    expected.push_back(taken);  // in its place, whole
    append_finished(refused, expected);
    EXPECT_EQ(rebuilt(Inbox(*lan).take(expected.size())), expected);
    EXPECT_EQ(counters_of(*port)["tx.split"], 298U);
    expect_balance(*port, 0, 3);
  });
}

TEST(PcapOutputTest, an_offload_switched_off_is_done_in_software) {
  on_veth([] {
    auto [lan, port] = open_pair(Injection::kPacket);
    ASSERT_TRUE(port->set_offloads(0));
    expect_finished(*lan, *port);
  });
}

TEST(PcapOutputTest, S001_25_what_the_interface_refuses_is_counted_by_name) {
  for (const Injection injection : kInjections) {
    on_veth([injection] {
      auto port = *PcapPort::open({.interface = "vb", .injection = injection});
      write_all(*port, {make_frame({.payload_bytes = 2000}), Bytes(20), Bytes(0)});
      EXPECT_EQ(counters_of(*port)["tx.drop.too_long"], 1U);
      EXPECT_EQ(counters_of(*port)["tx.drop.short"], 2U);
      run("ip link set vb down");
      write_all(*port, {make_frame({})});
      EXPECT_EQ(counters_of(*port)["tx.drop.down"], 1U);
      run("ip link set vb up");
      EXPECT_TRUE(eventually([&] {
        write_all(*port, {make_frame({})});
        return counters_of(*port)["tx.frames"] > 0;
      }));
      const auto before = counters_of(*port)["tx.drop.down"];
      run("ip link del vb");
      write_all(*port, {make_frame({})});
      EXPECT_EQ(counters_of(*port)["tx.drop.down"], before + 1);
    });
  }
}

TEST(PcapOutputTest, the_command_line_chooses_the_injection) {
  on_veth([] {
    base::SystemClock clock;
    for (const std::string spec : {"vb", "pcap:vb", "pcap:vb,inject=packet"}) {
      const auto port = *support::open_lan_port(spec, {}, clock);
      EXPECT_NE(port->write_fd(), port->fd()) << spec;
      EXPECT_EQ(port->name(), "pcap:vb");
    }
    for (const std::string spec : {"vb,inject=pcap", "pcap:vb,inject=pcap"}) {
      const auto port = *support::open_lan_port(spec, {}, clock);
      EXPECT_EQ(port->write_fd(), port->fd()) << spec;
      EXPECT_EQ(port->name(), "pcap:vb,inject=pcap");
    }
  });
}

}  // namespace splitnic::lan::pcap_output_test
