// Real TAPs: a packet port on the same interface observes the frames of the stack.
#include "lan_bridge/ports/tap_port.h"

#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>

#include "lan_bridge/ports/packet_port.h"
#include "lan_bridge/ports/watched_port.h"
#include "tests/support/refuse_call.h"
#include "tests/unit/lan_bridge/port_harness.h"

namespace splitnic::lan::tap_port_test {

using frame_builder::Bytes;
using frame_builder::make_frame;
using namespace port_harness;

std::unique_ptr<TapPort> open_tap(const TapOptions& options) {
  auto port = TapPort::open(options);
  EXPECT_TRUE(port) << port.error().text();
  return std::move(*port);
}
bool exists(const std::string& name) { return NetlinkLink::find(name)->has_value(); }

std::vector<Bytes> every_kind() {
  std::vector<Bytes> frames;
  for (const bool is_udp : {false, true}) {
    for (const bool is_ip6 : {false, true}) {
      frames.push_back(make_frame(
          {.is_ip6 = is_ip6, .is_udp = is_udp, .payload_bytes = 60000, .gso_size = 1400}));
      frames.push_back(make_frame({.is_ip6 = is_ip6,
                                   .is_udp = is_udp,
                                   .tags = {0x2005},
                                   .payload_bytes = 20000,
                                   .gso_size = 1400}));
      frames.push_back(
          make_frame({.is_ip6 = is_ip6, .is_udp = is_udp, .tags = {4094}, .is_partial = true}));
      frames.push_back(make_frame({.is_ip6 = is_ip6, .is_udp = is_udp, .is_partial = true}));
      frames.push_back(make_frame({.is_ip6 = is_ip6, .is_udp = is_udp}));
    }
  }
  return frames;
}

TEST(TapPortTest, frames_of_every_kind_cross_whole_in_both_directions) {
  in_namespace([] {
    auto tap = open_tap({.name = "nic0"});
    run("ip link set nic0 up");
    auto stack = *PacketPort::open({.interface = "nic0"});
    const auto frames = every_kind();
    write_all(*tap, frames);
    const auto seen = rebuilt(Inbox(*stack).take(frames.size()));
    ASSERT_EQ(seen.size(), frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(seen[i], frames[i]) << i;
    write_all(*stack, frames);
    const auto read = rebuilt(Inbox(*tap).take(frames.size()));
    ASSERT_EQ(read.size(), frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(read[i], frames[i]) << i;
    expect_balance(*tap, frames.size(), frames.size());
    EXPECT_EQ(counters_of(*tap)["rx.drop.kernel"], 0U);
  });
}

// One line is logged, and the TAP works without the offload.
TEST(TapPortTest, an_offload_that_the_kernel_does_not_know_is_reported_once) {
  constexpr std::uint32_t kUso = 0x20 | 0x40;  // TUN_F_USO4, TUN_F_USO6
  struct Case {
    std::uint32_t refused;
    std::uint32_t left;
    const char* line;
  };
  constexpr std::uint32_t kTcp = kOffloadChecksum | kOffloadTso4 | kOffloadTso6;
  for (const Case& c : {Case{kUso, kTcp, "no UDP super-frames"}, Case{~0U, 0, "no offloads"}}) {
    in_namespace([&] {
      splitnic::support::refuse_call(SYS_ioctl, 1, TUNSETOFFLOAD,
                                     splitnic::support::Next::kHasAnyOf, c.refused);
      ::testing::internal::CaptureStderr();
      auto tap = open_tap({.name = "nic0"});
      (void)tap->set_offloads(kOffloadsAll);
      const std::string log = ::testing::internal::GetCapturedStderr();
      const std::size_t line = log.find(c.line);
      EXPECT_NE(line, std::string::npos) << log;
      EXPECT_EQ(log.find(" take no ", line), std::string::npos) << log;
      EXPECT_EQ(tap->offloads() & (kTcp | kOffloadUso), c.left);
    });
  }
}

TEST(TapPortTest, each_offload_has_an_off_switch) {
  in_namespace([] {
    auto tap = open_tap({.name = "nic0"});
    run("ip link set nic0 up");
    auto stack = *PacketPort::open({.interface = "nic0"});
    ASSERT_TRUE(tap->set_offloads(kOffloadChecksum | kOffloadTso6));
    const Bytes super4 = make_frame({.payload_bytes = 9000, .gso_size = 1000});
    const Bytes super6 = make_frame({.is_ip6 = true, .payload_bytes = 9000, .gso_size = 1000});
    Inbox inbox(*tap);
    write_all(*stack, {super4, super6});
    auto got = inbox.take(10);
    ASSERT_EQ(got.size(), 10U);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(VnetHeader::parse(got[i]).gso_type, 0);
    EXPECT_EQ(rebuilt(got[9]), super6);
    write_all(*tap, {super4, super6});  // the port splits frames that it may not pass on
    got = Inbox(*stack).take(10);
    ASSERT_EQ(got.size(), 10U);
    EXPECT_EQ(rebuilt(got[9]), super6);
    ASSERT_TRUE(tap->set_offloads(0));
    write_all(*stack, {super6});
    got = inbox.take(9);
    ASSERT_EQ(got.size(), 9U);
    for (const Bytes& frame : got) {
      EXPECT_EQ(VnetHeader::parse(frame), VnetHeader{});
      EXPECT_TRUE(verify_l4_checksum(frame_builder::ethernet_of(frame),
                                     *parse_frame(frame_builder::ethernet_of(frame))));
    }
    expect_balance(*tap, 19, 2);
  });
}

TEST(TapPortTest, is_created_down_with_alias_mac_mtu_and_gso_limit_and_goes_at_a_clean_stop) {
  in_namespace([] {
    const MacAddress mac{0x02, 9, 8, 7, 6, 5};
    auto tap = open_tap(
        {.name = "nic0", .alias = "splitnic host h1", .mtu = 9000, .mac = mac, .gso_max = 62000});
    const PortState state = tap->state();
    EXPECT_FALSE(state.admin_up);
    EXPECT_FALSE(state.link_up);
    EXPECT_EQ(state.mtu, 9000U);
    EXPECT_EQ(state.mac, mac);
    run("ip -d link show nic0 | grep -q 'gso_max_size 62000'");
    run("ip link show nic0 | grep -q 'alias splitnic host h1'");
    run("ip -d link show nic0 | grep -q 'persist on'");
    tap.reset();
    EXPECT_FALSE(exists("nic0"));
    tap = open_tap({.name = "nic0", .keep = true});
    tap.reset();
    EXPECT_TRUE(exists("nic0"));
  });
}

TEST(TapPortTest, F_51_a_restart_adopts_only_our_own_tap_that_nobody_holds) {
  in_namespace([] {
    auto tap = open_tap({.name = "nic0", .keep = true, .alias = "ours"});
    const auto held = TapPort::open({.name = "nic0", .alias = "ours"});
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().text(), "nic0: the TAP is held by another program: stop it first");
    run("ip link set nic0 up && ip addr add 192.0.2.1/24 dev nic0");
    tap.reset();
    const auto foreign = TapPort::open({.name = "nic0", .alias = "other"});
    ASSERT_FALSE(foreign);
    EXPECT_EQ(foreign.error().text(),
              "nic0: the interface exists and is not ours (its alias is \"ours\"): choose another "
              "name or remove it");
    tap = open_tap({.name = "nic0", .alias = "ours"});
    EXPECT_TRUE(tap->is_adopted());
    EXPECT_TRUE(tap->state().link_up);
    run("ip addr show nic0 | grep -q 192.0.2.1");  // the user's addresses stayed
    tap.reset();
    EXPECT_FALSE(exists("nic0"));
    run("ip link add veth9 type veth peer name veth8");
    run("ip link set veth9 alias ours");
    const auto veth = TapPort::open({.name = "veth9", .alias = "ours"});
    ASSERT_FALSE(veth);
    EXPECT_EQ(
        veth.error().text(),
        "veth9: the interface exists and is not a TAP with a virtio-net header: choose another "
        "name or remove it");
    EXPECT_TRUE(exists("veth9"));
  });
}

// A duplicate of the descriptor is what the service manager has.
TEST(TapPortTest, B_13_a_stored_tap_goes_with_its_last_descriptor) {
  in_namespace([] {
    auto tap = open_tap({.name = "nic0", .alias = "ours", .is_stored = true});
    run("ip -d link show nic0 | grep -q 'persist off'");
    run("ip link set nic0 up && ip addr add 192.0.2.1/24 dev nic0");
    base::UniqueFd kept(::dup(tap->fd()));
    tap.reset();
    run("ip addr show nic0 | grep -q 192.0.2.1");
    tap = open_tap({.name = "nic0", .alias = "ours", .fd = ::dup(kept.get()), .is_stored = true});
    EXPECT_TRUE(tap->is_adopted());
    EXPECT_TRUE(tap->state().link_up);
    run("ip addr show nic0 | grep -q 192.0.2.1");
    run("ip link show nic0 | grep -q 'alias ours'");
    const auto other = TapPort::open(
        {.name = "nic1", .alias = "ours", .fd = ::dup(kept.get()), .is_stored = true});
    ASSERT_FALSE(other);
    EXPECT_NE(other.error().text().find("is the TAP nic0"), std::string::npos);
    kept.reset();
    EXPECT_TRUE(exists("nic0"));
    tap.reset();
    EXPECT_FALSE(exists("nic0"));
    // Kept by the settings, and one that was persistent.
    tap = open_tap({.name = "nic0", .keep = true, .alias = "ours", .is_stored = true});
    tap.reset();
    EXPECT_TRUE(exists("nic0"));
    tap = open_tap({.name = "nic0", .alias = "ours", .is_stored = true});
    run("ip -d link show nic0 | grep -q 'persist off'");
    tap.reset();
    EXPECT_FALSE(exists("nic0"));
  });
}

TEST(TapPortTest, the_carrier_is_what_was_set_also_if_set_while_down) {
  in_namespace([] {
    auto tap = open_tap({.name = "nic0", .has_carrier = false});
    run("ip link set nic0 up");
    EXPECT_FALSE(tap->state().link_up);
    ASSERT_TRUE(tap->set_carrier(true));
    EXPECT_TRUE(tap->state().link_up);
    run("ip link show nic0 | grep -q LOWER_UP");
    run("ip link set nic0 down");
    ASSERT_TRUE(tap->set_carrier(false));
    run("ip link set nic0 up");
    EXPECT_FALSE(tap->state().link_up);  // reading the state clears the event fd
    run("ip link show nic0 | grep -q NO-CARRIER");
    run("ip link set nic0 down");
    ASSERT_TRUE(tap->set_carrier(true));
    run("ip link set nic0 up");
    EXPECT_TRUE(tap->state().link_up);
  });
}

// Else the interface would be up and its owner not know of it: the event does not come twice. The
// programs wrap the port.
TEST(TapPortTest, an_event_that_a_setting_has_read_is_counted) {
  in_namespace([] {
    base::ManualClock clock;
    auto tap = std::make_unique<WatchedPort>(open_tap({.name = "nic0", .has_carrier = false}),
                                             clock, WatchedPort::Reads::kSent);
    ASSERT_FALSE(tap->state().admin_up);
    const std::uint64_t before = tap->changes();
    EXPECT_FALSE(tap->state().admin_up);
    EXPECT_EQ(tap->changes(), before) << "nothing has changed";
    run("ip link set nic0 up");
    ASSERT_TRUE(tap->set_carrier(true));
    EXPECT_GT(tap->changes(), before);
    EXPECT_TRUE(tap->state().admin_up);
    const std::uint64_t up = tap->changes();
    run("ip link del nic0");
    tap->state();
    EXPECT_TRUE(tap->is_gone());
    EXPECT_GT(tap->changes(), up);
  });
}

TEST(TapPortTest, the_lists_of_the_kernel_are_read) {
  in_namespace([] {
    auto tap = open_tap({.name = "nic0"});
    run("ip link set nic0 up");
    run("ip link add link nic0 name mv0 address 02:00:00:00:00:51 type macvlan");
    run("ip link set mv0 up");
    run("bridge fdb add 02:00:00:00:00:33 dev nic0 self");
    run("ip maddr add 01:00:5e:00:00:4d dev nic0");
    const auto lists = tap->address_lists().value();
    EXPECT_EQ(lists.unicast,
              (std::vector<MacAddress>{{0x02, 0, 0, 0, 0, 0x33}, {0x02, 0, 0, 0, 0, 0x51}}));
    const std::vector<MacAddress>& groups = lists.multicast;
    EXPECT_TRUE(std::ranges::count(groups, MacAddress{0x01, 0, 0x5e, 0, 0, 0x4d}));
    EXPECT_TRUE(std::ranges::count(groups, MacAddress{0x01, 0, 0x5e, 0, 0, 0x01}));
    EXPECT_TRUE(std::ranges::is_sorted(groups));
    EXPECT_EQ(lists.promiscuity, 1U);
    run("ip link del mv0");  // an interface has macvlans or a bridge
    run("ip link add br0 type bridge && ip link set nic0 master br0");
    run("bridge fdb add 02:00:00:00:00:66 dev nic0 master static");
    EXPECT_EQ(tap->address_lists()->unicast, (std::vector<MacAddress>{{0x02, 0, 0, 0, 0, 0x33}}))
        << "not the address behind it, which is the bridge's business";
    EXPECT_EQ(tap->address_lists()->promiscuity, 2U);
    run("bridge fdb del 02:00:00:00:00:33 dev nic0 self");
    EXPECT_TRUE(tap->address_lists()->unicast.empty());
    run("ip link del nic0");
    EXPECT_EQ(tap->address_lists(), std::nullopt) << "the event is not read yet: nothing is known";
    (void)tap->state();
    EXPECT_EQ(tap->address_lists(), AddressLists{});
  });
}

TEST(TapPortTest, what_is_lost_is_counted_by_name) {
  in_namespace([] {
    auto tap = open_tap({.name = "nic0"});
    write_all(*tap, {make_frame({}), Bytes(13)});
    EXPECT_EQ(counters_of(*tap)["tx.drop.down"], 1U);
    EXPECT_EQ(counters_of(*tap)["tx.drop.short"], 1U);
    run("ip link set nic0 txqueuelen 10 && ip link set nic0 up");
    auto stack = *PacketPort::open({.interface = "nic0"});
    std::vector<Bytes> many(100, make_frame({}));
    write_all(*stack, many);
    const std::size_t got = Inbox(*tap).take_all().size();
    const auto c = counters_of(*tap);
    EXPECT_LT(got, 100U);
    EXPECT_EQ(got + c.at("rx.drop.kernel"), 100U);
    run("ip link del nic0");
    EXPECT_FALSE(tap->state().admin_up);
    EXPECT_TRUE(Inbox(*tap).take_all().empty());
    write_all(*tap, {make_frame({})});
    EXPECT_EQ(counters_of(*tap)["tx.drop.down"], 2U);
    expect_balance(*tap, got, 3);
  });
}

TEST(TapPortTest, a_name_that_is_none_is_refused) {
  for (const char* name : {"", "a234567890123456", "tap%d", "a/b", "a b", ".."}) {
    const auto port = TapPort::open({.name = name});
    ASSERT_FALSE(port) << name;
    EXPECT_NE(port.error().text().find("is not an interface name"), std::string::npos);
  }
}

TEST(TapPortTest, a_full_ring_loses_nothing) {
  in_namespace([] {
    auto tap = open_tap({.name = "nic0"});
    run("ip link set nic0 up");
    auto stack = *PacketPort::open({.interface = "nic0"});
    tap->set_frame_bytes_max(8192);
    const std::vector<Bytes> sent(4, make_frame({.payload_bytes = 60000, .gso_size = 1000}));
    write_all(*stack, sent);
    std::vector<std::byte> arena(2 * kFrameReserve);
    FrameRing ring(arena, 5);
    std::array<base::Bytes, 3> out;
    std::size_t frames = 0;
    std::size_t payload = 0;
    for (int i = 0; i < 200; ++i) {
      const auto batch = tap->read(ring, out);
      for (std::size_t k = 0; k < batch.frames; ++k) {
        EXPECT_LE(out[k].size(), 8192U);
        payload += frame_builder::payload_of(out[k]).size();
      }
      frames += batch.frames;
      if (i % 3 == 2 || batch.frames == 0) {
        while (ring.frames() > 0) ring.release();
      }
    }
    EXPECT_EQ(payload, 4U * 60000);
    EXPECT_EQ(frames, 4U * 8);  // 60 segments, 8 a piece
    expect_balance(*tap, frames, 0);
  });
}

}  // namespace splitnic::lan::tap_port_test
