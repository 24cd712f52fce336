// The receive filter of a port, as the kernel lists it for its interface.
#include <gtest/gtest.h>

#include "lan_bridge/ports/packet_port.h"
#include "lan_bridge/ports/pcap_port.h"
#include "tests/support/open_lan_port.h"
#include "tests/unit/lan_bridge/port_harness.h"

namespace splitnic::lan::receive_filter_test {
namespace {

using namespace port_harness;

constexpr MacAddress kFirst{0x02, 0, 0, 0, 0, 1}, kSecond{0x02, 0, 0, 0, 0, 2};
constexpr MacAddress kGroup{0x01, 0, 0x5E, 0, 0, 9}, kOtherGroup{0x01, 0, 0x5E, 0, 0, 8};

// Of the kernel: va as all programs of the machine want it.
struct Kernel {
  std::unique_ptr<NetlinkLink> link = *NetlinkLink::open("va");
  AddressLists lists() { return link->address_lists().value(); }
  bool has_group(const MacAddress& mac) {
    return std::ranges::binary_search(lists().multicast, mac);
  }
};

template <class Port, class Options>
void follows_what_is_set() {
  on_veth([] {
    Kernel kernel;
    auto port = *Port::open(Options{.interface = "va"});
    EXPECT_EQ(kernel.lists().promiscuity, 1U) << "as it is opened";
    ASSERT_TRUE(port->set_receive_filter({.unicast = {kFirst}, .multicast = {kGroup}}));
    EXPECT_EQ(kernel.lists().unicast, std::vector{kFirst});
    EXPECT_TRUE(kernel.has_group(kGroup));
    ASSERT_TRUE(
        port->set_receive_filter({.unicast = {kFirst, kSecond}, .multicast = {kOtherGroup}}));
    EXPECT_EQ(kernel.lists().unicast, (std::vector{kFirst, kSecond}));
    EXPECT_FALSE(kernel.has_group(kGroup));
    EXPECT_TRUE(kernel.has_group(kOtherGroup));
    ASSERT_TRUE(port->set_receive_filter({.unicast = {kSecond}}));
    EXPECT_EQ(kernel.lists().unicast, std::vector{kSecond});
    EXPECT_FALSE(kernel.has_group(kOtherGroup));
    ASSERT_TRUE(port->set_receive_filter({}));
    EXPECT_TRUE(kernel.lists().unicast.empty());
    EXPECT_EQ(kernel.lists().promiscuity, 0U);
    ASSERT_TRUE(port->set_receive_filter({.promiscuous = true}));
    EXPECT_EQ(kernel.lists().promiscuity, 1U);
    ASSERT_TRUE(port->set_receive_filter({.unicast = {kFirst}}));
    port.reset();
    EXPECT_TRUE(kernel.lists().unicast.empty()) << "it ends with the socket";
  });
}

TEST(ReceiveFilterTest, S001_50_a_packet_port_receives_what_is_asked_for) {
  follows_what_is_set<PacketPort, PacketOptions>();
}
TEST(ReceiveFilterTest, S001_50_a_pcap_port_receives_what_is_asked_for) {
  follows_what_is_set<PcapPort, PcapOptions>();
}

TEST(ReceiveFilterTest, a_port_that_is_not_promiscuous_is_not_for_a_moment) {
  on_veth([] {
    Kernel kernel;
    const auto port = *PcapPort::open({.interface = "va", .promiscuous = false});
    EXPECT_EQ(kernel.lists().promiscuity, 0U);
  });
}

}  // namespace
}  // namespace splitnic::lan::receive_filter_test
