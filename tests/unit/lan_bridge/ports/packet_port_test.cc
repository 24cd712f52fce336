// AF_PACKET ports on a real veth with default offloads.
#include "lan_bridge/ports/packet_port.h"

#include <gtest/gtest.h>

#include "tests/support/open_lan_port.h"
#include "tests/unit/lan_bridge/port_harness.h"

namespace splitnic::lan::packet_port_test {

using frame_builder::Bytes;
using frame_builder::make_frame;
using frame_builder::payload_of;
using namespace port_harness;

struct Pair {
  std::unique_ptr<PacketPort> a, b;
};
Pair open_pair(const PacketOptions& options_b = {.interface = "vb"}) {
  auto a = PacketPort::open({.interface = "va"});
  auto b = PacketPort::open(options_b);
  EXPECT_TRUE(a) << a.error().text();
  EXPECT_TRUE(b) << b.error().text();
  return {std::move(*a), std::move(*b)};
}

TEST(PacketPortTest, super_frames_and_partial_checksums_cross_whole) {
  on_veth([] {
    auto [a, b] = open_pair();
    std::vector<Bytes> sent;
    for (const bool is_udp : {false, true}) {
      for (const bool is_ip6 : {false, true}) {
        sent.push_back(make_frame(
            {.is_ip6 = is_ip6, .is_udp = is_udp, .payload_bytes = 60000, .gso_size = 1400}));
        sent.push_back(make_frame({.is_ip6 = is_ip6, .is_udp = is_udp, .is_partial = true}));
        sent.push_back(make_frame({.is_ip6 = is_ip6, .is_udp = is_udp}));
      }
    }
    write_all(*a, sent);
    Inbox inbox(*b);
    EXPECT_EQ(rebuilt(inbox.take(sent.size())), sent);
    expect_balance(*a, 0, sent.size());
    expect_balance(*b, sent.size(), 0);
  });
}

// The kernel never returns a frame to the socket that sent it; to every other socket of the
// interface it shows what goes out, unless the socket is opened as the port opens it.
TEST(PacketPortTest, what_another_sends_on_the_interface_does_not_come_in) {
  on_veth([] {
    auto [a, b] = open_pair();
    auto other = *PacketPort::open({.interface = "va"});
    const std::vector<Bytes> sent{make_frame({}), make_frame({.is_udp = true})};
    write_all(*other, sent);
    EXPECT_EQ(rebuilt(Inbox(*b).take(sent.size())), sent);
    EXPECT_TRUE(Inbox(*a).take_all().empty());
    EXPECT_TRUE(Inbox(*other).take_all().empty());
    write_all(*b, sent);
    EXPECT_EQ(rebuilt(Inbox(*a).take(sent.size())), sent);
    expect_balance(*a, sent.size(), 0);
  });
}

TEST(PacketPortTest, the_short_header_of_older_kernels_carries_the_same) {
  on_veth([] {
    auto a = *PacketPort::open({.interface = "va", .has_long_header = false});
    auto b = *PacketPort::open({.interface = "vb", .has_long_header = false});
    const std::vector<Bytes> sent{
        make_frame({.payload_bytes = 60000, .gso_size = 1400}),
        make_frame({.is_ip6 = true, .is_udp = true, .tags = {5}, .is_partial = true}),
        make_frame({.tags = {0x6001}, .payload_bytes = 0})};
    write_all(*a, sent);
    EXPECT_EQ(rebuilt(Inbox(*b).take(3)), sent);
    expect_balance(*b, 3, 0);
  });
}

TEST(PacketPortTest, S001_03_tags_taken_out_of_band_come_back_in_band) {
  on_veth([] {
    auto [a, b] = open_pair();
    std::vector<Bytes> sent;
    for (const std::uint16_t tci : std::initializer_list<std::uint16_t>{0, 5, 4094, 0xE005}) {
      sent.push_back(make_frame({.tags = {tci}}));
      sent.push_back(make_frame({.tags = {tci}, .is_partial = true}));
      sent.push_back(
          make_frame({.is_ip6 = true, .tags = {tci}, .payload_bytes = 30000, .gso_size = 1400}));
      sent.push_back(make_frame({.tags = {0x0064, tci}}));
    }
    sent.push_back(make_frame({.tags = {5}, .payload_bytes = 1500 - 52}));  // 1518 bytes
    ASSERT_EQ(sent.back().size(), 12U + 1518);
    write_all(*a, sent);
    const auto got = rebuilt(Inbox(*b).take(sent.size()));
    ASSERT_EQ(got.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(got[i], sent[i]) << i;
  });
}

TEST(PacketPortTest, frames_of_65535_to_65553_bytes_are_split_at_a_segment_boundary) {
  on_veth([] {
    auto [a, b] = open_pair();
    run("ip link set va gso_max_size 131072");  // else the kernel segments what is longer than 64
                                                // KiB
    b->set_frame_bytes_max(65536);
    Inbox inbox(*b);
    for (std::size_t bytes = 65535; bytes <= 65553; ++bytes) {
      const Bytes sent =
          make_frame({.is_ip6 = true, .payload_bytes = bytes - 14 - 72, .gso_size = 1400});
      ASSERT_EQ(sent.size(), bytes + 12);
      write_all(*a, {sent});
      const auto got = rebuilt(inbox.take(2));
      ASSERT_EQ(got.size(), 2U) << bytes;
      EXPECT_LE(got[0].size(), 65536U);
      EXPECT_EQ(payload_of(got[0]).size() % 1400, 0U);
      EXPECT_TRUE(frame_builder::equal(payload_of(got[0]),
                                       payload_of(sent).first(payload_of(got[0]).size())));
      EXPECT_TRUE(frame_builder::equal(payload_of(got[1]),
                                       payload_of(sent).subspan(payload_of(got[0]).size())));
    }
    EXPECT_EQ(counters_of(*b)["rx.split"], 19U);
    expect_balance(*b, 38, 0);
  });
}

TEST(PacketPortTest, an_offload_switched_off_is_done_in_software_both_ways) {
  on_veth([] {
    auto [a, b] = open_pair();
    const Bytes super = make_frame({.payload_bytes = 60000, .gso_size = 1000});
    const Bytes partial = make_frame({.is_udp = true, .is_partial = true});
    ASSERT_TRUE(b->set_offloads(kOffloadChecksum | kOffloadTso6));
    EXPECT_EQ(b->offloads() & kOffloadTso4, 0U);
    write_all(*a, {super, partial});
    Inbox inbox(*b, 2 * kFrameReserve);  // small: the pieces wait for room
    auto got = inbox.take(61);
    ASSERT_EQ(got.size(), 61U);
    for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(VnetHeader::parse(got[i]), VnetHeader{});
    EXPECT_EQ(rebuilt(got[60]), partial);
    ASSERT_TRUE(b->set_offloads(0));
    write_all(*a, {partial});
    got = inbox.take(1);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0], make_frame({.is_udp = true}));
    write_all(*b, {super, partial});
    got = Inbox(*a).take(61);
    ASSERT_EQ(got.size(), 61U);
    for (const Bytes& frame : got) EXPECT_FALSE(VnetHeader::parse(frame).needs_checksum());
    expect_balance(*b, 62, 2);
  });
}

// More datagrams in one frame than the kernel creates (UDP_MAX_SEGMENTS: 128, 64 before 6.9).
TEST(PacketPortTest, a_super_frame_that_the_kernel_refuses_is_cut_here_and_reported_once) {
  on_veth([] {
    auto [a, b] = open_pair();
    const Bytes refused = make_frame({.is_udp = true, .payload_bytes = 15000, .gso_size = 100});
    const Bytes taken = make_frame({.is_udp = true, .payload_bytes = 5600, .gso_size = 1400});
    ::testing::internal::CaptureStderr();
    write_all(*a, {refused, taken, refused});
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(log.find("refuses a super-frame"), log.rfind("refuses a super-frame")) << log;
    EXPECT_NE(log.find("refuses a super-frame"), std::string::npos) << log;
    const auto got = Inbox(*b).take(301);
    ASSERT_EQ(got.size(), 301U);
    EXPECT_EQ(rebuilt(std::vector<Bytes>{got[150]}).front(), taken);  // in its place, whole
    Bytes payload;
    for (std::size_t i = 0; i < 150; ++i) {
      const auto part = payload_of(got[i]);
      EXPECT_EQ(part.size(), 100U) << i;
      payload.insert(payload.end(), part.begin(), part.end());
    }
    EXPECT_TRUE(frame_builder::equal(payload, payload_of(refused)));
    EXPECT_EQ(counters_of(*a)["tx.split"], 298U);
    expect_balance(*a, 0, 3);
  });
}

TEST(PacketPortTest, the_units_own_fabric_datagrams_are_never_captured) {
  on_veth([] {
    auto [a, b] =
        open_pair({.interface = "vb", .exclude = {{7471, "10.0.0.11"}, {7472, "fd00::b"}, {7473}}});
    const auto mac = b->state().mac;
    std::vector<Bytes> own;
    own.push_back(make_frame({.is_udp = true, .port = 7471}));
    own.push_back(make_frame({.is_ip6 = true, .is_udp = true, .port = 7472}));
    own.push_back(
        make_frame({.is_udp = true, .payload_bytes = 9000, .gso_size = 1400, .port = 7471}));
    own.push_back(make_frame({.is_udp = true, .port = 7473, .destination = mac}));
    own.push_back(make_frame({.is_ip6 = true, .is_udp = true, .port = 7473, .destination = mac}));
    std::vector<Bytes> others;
    others.push_back(make_frame({.is_udp = true, .port = 7472}));
    others.push_back(make_frame({.is_udp = false, .port = 7471}));
    others.push_back(make_frame({.is_ip6 = true, .is_udp = true, .port = 7471}));
    others.push_back(make_frame({.is_udp = true, .port = 7473}));
    Bytes elsewhere = make_frame({.is_udp = true, .port = 7471});
    elsewhere[12 + 33] = std::byte{0x0C};  // 10.0.0.12
    others.push_back(elsewhere);
    write_all(*a, own);
    write_all(*a, others);
    EXPECT_EQ(rebuilt(Inbox(*b).take(20, true)), others);
  });
  on_veth([] {
    for (const std::string address : {"10.0.0", "10.0.0.1%va", "fe80:%va"}) {
      const auto bad = PacketPort::open({.interface = "va", .exclude = {{7471, address}}});
      ASSERT_FALSE(bad);
      EXPECT_EQ(bad.error().text(), "va: \"" + address + "\" is not an IP address");
    }
  });
}

TEST(PacketPortTest, a_fabric_address_with_a_zone_is_excluded_as_the_address_is) {
  on_veth([] {
    auto [a, b] = open_pair({.interface = "vb", .exclude = {{7471, "fd00::b%vb"}, {7472, "::%2"}}});
    const auto mac = b->state().mac;
    write_all(*a, {make_frame({.is_ip6 = true, .is_udp = true, .port = 7471}),
                   make_frame({.is_ip6 = true, .is_udp = true, .port = 7472, .destination = mac})});
    const Bytes other = make_frame({.is_ip6 = true, .is_udp = true, .port = 7472});
    write_all(*a, {other});
    EXPECT_EQ(rebuilt(Inbox(*b).take(3, true)), std::vector<Bytes>{other});
  });
}

TEST(PacketPortTest, a_port_on_a_lan_nic_begins_with_the_mtu_asked_for) {
  on_veth([] {
    base::SystemClock clock;
    std::uint32_t mtu = 1400;
    for (const std::string spec : {"pcap:va", "packet:va", "va"}) {
      const auto port = support::open_lan_port(spec, {.mtu = ++mtu}, clock);
      ASSERT_TRUE(port) << port.error().text();
      EXPECT_EQ((*port)->state().mtu, mtu);
      run("ip link show va | grep -q 'mtu " + std::to_string(mtu) + "'");
      ASSERT_TRUE(support::open_lan_port(spec, {}, clock));  // not requested: it stays
      run("ip link show va | grep -q 'mtu " + std::to_string(mtu) + "'");
      const auto refused = support::open_lan_port(spec, {.mtu = 70000}, clock);
      ASSERT_FALSE(refused);
      const std::string text = refused.error().text();
      EXPECT_TRUE(text.starts_with("va: setting the MTU: the kernel refused: ")) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos);
    }
  });
}

TEST(PacketPortTest, what_the_kernel_drops_or_refuses_is_counted_by_name) {
  on_veth([] {
    auto a = *PacketPort::open({.interface = "va"});
    auto b = *PacketPort::open({.interface = "vb", .buffer_bytes = 65536});
    constexpr std::size_t kMany = 3000;
    const std::vector<Bytes> many(kMany, make_frame({.payload_bytes = 1000}));
    write_all(*a, many);
    const std::size_t got = Inbox(*b).take_all().size();
    EXPECT_LT(got, kMany);
    EXPECT_EQ(counters_of(*b)["rx.drop.kernel"], kMany - got);
    EXPECT_EQ(counters_of(*b)["rx.drop.kernel"], kMany - got);  // reading it loses nothing
    write_all(*a, {make_frame({.payload_bytes = 2000}), Bytes(20), Bytes(0)});
    EXPECT_EQ(counters_of(*a)["tx.drop.too_long"], 1U);
    EXPECT_EQ(counters_of(*a)["tx.drop.short"], 2U);
    run("ip link set va down");
    write_all(*a, {make_frame({}), make_frame({.payload_bytes = 9000, .gso_size = 1000})});
    EXPECT_EQ(counters_of(*a)["tx.drop.down"], 2U);
    expect_balance(*a, 0, kMany + 5);
    expect_balance(*b, got, 0);
  });
}

// A frame that a full interface has not taken has to wait at its host, not in the socket.
TEST(PacketPortTest, S001_08_the_socket_holds_little_of_what_goes_out) {
  on_veth([] {
    const auto port = *PacketPort::open({.interface = "va"});
    int out = 0, in = 0;
    socklen_t bytes = sizeof(int);
    ASSERT_EQ(::getsockopt(port->fd(), SOL_SOCKET, SO_SNDBUF, &out, &bytes), 0);
    ASSERT_EQ(::getsockopt(port->fd(), SOL_SOCKET, SO_RCVBUF, &in, &bytes), 0);
    EXPECT_LE(out, 1 << 20);
    EXPECT_GE(in, 16 << 20) << "a burst from the LAN finds room";
  });
}

TEST(PacketPortTest, errors_are_one_clear_line) {
  in_namespace([] {
    const auto port = PacketPort::open({.interface = "nope0"});
    ASSERT_FALSE(port);
    EXPECT_EQ(port.error().text(), "nope0: no such interface");
  });
}

TEST(NetlinkLinkTest, state_follows_the_interface_and_settings_reach_it) {
  on_veth([] {
    auto a = *PacketPort::open({.interface = "va", .promiscuous = false});
    EXPECT_TRUE(a->state().link_up);
    EXPECT_TRUE(a->state().admin_up);
    EXPECT_EQ(a->state().mtu, 1500U);
    EXPECT_EQ(a->state().speed_mbps, 10000U);
    EXPECT_FALSE(a->state().promiscuous);
    run("ip link set vb down");
    pollfd wait{a->event_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&wait, 1, 60'000), 1);
    EXPECT_TRUE(eventually([&] { return !a->state().link_up; }));
    EXPECT_TRUE(a->state().admin_up);
    run("ip link set vb up && ip link set va promisc on allmulticast on");
    EXPECT_TRUE(eventually([&] { return a->state().link_up; }));
    EXPECT_TRUE(a->state().promiscuous);
    EXPECT_TRUE(a->state().all_multicast);
    ASSERT_TRUE(a->set_mtu(1400));
    const MacAddress mac{0x02, 1, 2, 3, 4, 5};
    ASSERT_TRUE(a->set_mac(mac));
    EXPECT_EQ(a->state().mtu, 1400U);
    EXPECT_EQ(a->state().mac, mac);
    const auto refused = a->set_mtu(1);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().text().starts_with("va: setting the MTU: the kernel refused:"))
        << refused.error().text();
    run("ip link del va");
    EXPECT_FALSE(a->state().link_up);
    EXPECT_FALSE(a->state().admin_up);
    EXPECT_FALSE(a->set_mtu(1400));
  });
}

TEST(NetlinkLinkTest, a_bridge_port_leaving_its_bridge_is_not_gone) {
  on_veth([] {
    auto a = *PacketPort::open({.interface = "va", .promiscuous = false});
    run("ip link add br0 type bridge && ip link set br0 up && ip link set va master br0");
    EXPECT_TRUE(a->state().promiscuous);  // a bridge receives everything
    run("ip link set va nomaster");
    EXPECT_TRUE(a->state().link_up);
    EXPECT_FALSE(a->state().promiscuous);
  });
}

}  // namespace splitnic::lan::packet_port_test
