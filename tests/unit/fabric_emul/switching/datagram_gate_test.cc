// Datagrams that pass between the fabric and an interface, and those that are dropped, by cause.
#include "fabric_emul/switching/datagram_gate.h"

#include <gtest/gtest.h>

#include "tests/unit/fabric_emul/switching/router_world.h"

namespace splitnic::fabric {
namespace datagram_gate_test {

using namespace router_world;

NetworkAddress beyond(std::uint8_t last) {
  NetworkAddress address;
  address.bytes[0] = std::byte{0x20};
  address.bytes[15] = std::byte{last};
  return address;
}
NetworkAddress starting(std::uint8_t first, std::uint8_t second, std::uint8_t last) {
  NetworkAddress address = beyond(last);
  address.bytes[0] = std::byte{first};
  address.bytes[1] = std::byte{second};
  return address;
}

std::vector<std::byte> datagram(const NetworkAddress& from, const NetworkAddress& to,
                                std::size_t payload = 20) {
  std::vector<std::byte> out(kGnhBytes + payload);
  const Gnh header{.length = static_cast<std::uint16_t>(payload),
                   .next_header = 17,
                   .hop_limit = 9,
                   .source = from.bytes,
                   .destination = to.bytes};
  header.emit(out.data());
  return out;
}

// A node with LID 11 in fd00:a::/64, which knows node 20 of fd00:b::/64.
struct DatagramGateTest : ::testing::Test {
  DatagramGateTest() {
    const SwitchPlan plan = plan_in(topology_a(), 0);
    EXPECT_TRUE(network.learn(place_of(plan, Lid(11)), Lid(11)));
    office = network.resolved(place_of(plan, base::as_bytes("office")));
    EXPECT_TRUE(NetworkLayer::is_peer(office));
  }
  // Neither way, and for this cause.
  void expect_dropped(const std::vector<std::byte>& one, GateCounter cause) {
    for (const GateSide side : {GateSide::kLan, GateSide::kNode}) {
      DatagramGate gate(network, side);
      EXPECT_FALSE(gate.may_leave(Lid(11), one));
      EXPECT_EQ(gate.destination_of(one, Lid(30)), Lid());
      EXPECT_EQ(gate.counters()[cause], 2U);
    }
  }
  NetworkLayer network;
  Lid office;
};

TEST_F(DatagramGateTest, S000_48_a_leg_passes_between_nodes_and_what_is_beyond_the_fabric) {
  DatagramGate gate(network, GateSide::kLan);
  const NetworkAddress node = address(0xA, Lid(12)), peer = beyond(5);
  EXPECT_TRUE(gate.may_leave(Lid(12), datagram(node, peer)));
  EXPECT_TRUE(gate.may_leave(office, datagram(kU, peer))) << "of another subnet";
  EXPECT_EQ(gate.destination_of(datagram(peer, node), Lid()), Lid(12));
  EXPECT_EQ(gate.destination_of(datagram(peer, kU), Lid()), office);
  EXPECT_EQ(gate.destination_of(datagram(peer, beyond(6)), Lid()), Lid());
  EXPECT_EQ(gate.counters()[GateCounter::kDropPath], 1U);
}

TEST_F(DatagramGateTest, S000_48_nobody_sends_in_the_name_of_another) {
  DatagramGate gate(network, GateSide::kLan);
  const NetworkAddress node = address(0xA, Lid(12)), peer = beyond(5);
  EXPECT_FALSE(gate.may_leave(Lid(13), datagram(node, peer)));
  EXPECT_FALSE(gate.may_leave(Lid(12), datagram(kU, peer)));
  EXPECT_FALSE(gate.may_leave(Lid(12), datagram(beyond(6), peer)));
  EXPECT_EQ(gate.destination_of(datagram(node, address(0xA, Lid(13))), Lid()), Lid());
  EXPECT_EQ(gate.destination_of(datagram(kU, node), Lid()), Lid());
  EXPECT_EQ(gate.counters()[GateCounter::kDropSource], 5U);
  // A datagram for the fabric does not leave it.
  EXPECT_FALSE(gate.may_leave(Lid(12), datagram(node, kU)));
  EXPECT_FALSE(gate.may_leave(Lid(12), datagram(node, address(0xA, Lid(13)))));
  EXPECT_EQ(gate.counters()[GateCounter::kDropDestination], 2U);
}

TEST_F(DatagramGateTest, S000_14_an_end_node_has_its_network_address_and_no_other) {
  DatagramGate gate(network, GateSide::kNode);
  EXPECT_EQ(gate.destination_of(datagram(kH, beyond(5)), Lid(30)), Lid(30));
  EXPECT_EQ(gate.destination_of(datagram(kH, beyond(5)), Lid()), Lid());
  EXPECT_EQ(gate.counters()[GateCounter::kDropPath], 1U);
  EXPECT_EQ(gate.destination_of(datagram(beyond(6), beyond(5)), Lid(30)), Lid());
  EXPECT_EQ(gate.counters()[GateCounter::kDropSource], 1U);
  EXPECT_TRUE(gate.may_leave(Lid(30), datagram(beyond(5), kH)));
  EXPECT_FALSE(gate.may_leave(Lid(30), datagram(beyond(5), kU)));
  EXPECT_EQ(gate.counters()[GateCounter::kDropDestination], 1U);
}

TEST_F(DatagramGateTest, S000_14_what_is_no_whole_datagram_ends_here) {
  const auto good = datagram(beyond(5), kH);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, kGnhBytes - 1, kGnhBytes, good.size() - 1}) {
    expect_dropped({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes)},
                   GateCounter::kDropFormat);
  }
  auto longer = good;
  longer.push_back({});
  expect_dropped(longer, GateCounter::kDropFormat);
  auto version_4 = good;
  version_4[0] = std::byte{0x45};
  expect_dropped(version_4, GateCounter::kDropFormat);
  constexpr std::size_t kMost = DatagramGate::kDatagramBytesMax - kGnhBytes;
  expect_dropped(datagram(beyond(5), kH, kMost + 1), GateCounter::kDropFormat);
  DatagramGate gate(network, GateSide::kNode);
  EXPECT_TRUE(gate.may_leave(Lid(30), datagram(beyond(5), kH, kMost)));
}

TEST_F(DatagramGateTest, S000_48_addresses_that_no_router_forwards_end_here) {
  for (const NetworkAddress& one :
       {NetworkAddress(), starting(0xFF, 2, 1), starting(0xFE, 0x80, 1), starting(0xFE, 0xBF, 1)}) {
    expect_dropped(datagram(one, kH), GateCounter::kDropAddress);
    expect_dropped(datagram(kH, one), GateCounter::kDropAddress);
  }
  NetworkAddress loopback;
  loopback.bytes[15] = std::byte{1};
  expect_dropped(datagram(loopback, kH), GateCounter::kDropAddress);
  EXPECT_TRUE(is_routable(starting(0xFE, 0xC0, 1)));
  loopback.bytes[15] = std::byte{2};
  EXPECT_TRUE(is_routable(loopback));
}

TEST(DatagramGateWithoutPlace, S000_48_without_a_network_address_nothing_passes) {
  const NetworkLayer nowhere;
  DatagramGate gate(nowhere, GateSide::kLan);
  EXPECT_FALSE(gate.may_leave(Lid(11), datagram(kH, beyond(5))));
  EXPECT_EQ(gate.destination_of(datagram(beyond(5), kH), Lid()), Lid());
  EXPECT_EQ(gate.counters()[GateCounter::kDropAddress], 2U);
}

}  // namespace datagram_gate_test
}  // namespace splitnic::fabric
