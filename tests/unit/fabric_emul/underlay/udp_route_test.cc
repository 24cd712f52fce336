// Routes of the kernel, in a network namespace of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include <string>
#include <vector>

#include "fabric_emul/underlay/udp_underlay.h"
#include "tests/support/network_namespace.h"

namespace splitnic::fabric::udp_route_test {

using support::run;

// To which addresses a socket sends in memory.
std::vector<std::string> in_memory_of(const UdpConfig& config,
                                      const std::vector<std::string>& addresses) {
  const auto underlay = UdpUnderlay::open(config).value();
  std::vector<std::string> found;
  for (const std::string& text : addresses) {
    const auto to = UdpUnderlay::resolve(text);
    if (underlay->path_kind(*to) == PathKind::kMemory) found.push_back(text);
  }
  return found;
}

TEST(UdpRouteTest, veth_and_loopback_are_memory_and_nothing_else_is) {
  support::in_namespace([] {
    run("ip link set lo up && ip link add d0 type veth peer name d1");
    run("ip address add 10.9.9.1/24 dev d0 && ip address add fd00:9::1/64 dev d0 nodad");
    run("ip link set d0 up && ip link set d1 up");
    run("ip link add br0 type bridge && ip address add 10.8.8.1/24 dev br0 && ip link set br0 up");
    run("ip address add fd00:8::1/64 dev br0 nodad");
    run("ip link add m0 link d1 type macvlan && ip address add 10.7.7.1/24 dev m0 && "
        "ip link set m0 up && ip route add 10.6.6.0/24 via 10.8.8.9 dev br0 onlink");
    run("ip route add blackhole 10.5.5.0/24");
    const std::string link = std::to_string(if_nametoindex("d0"));
    const std::string bridge = std::to_string(if_nametoindex("br0"));
    const std::vector<std::string> in_memory = {"127.0.0.1:1",
                                                "[::1]:1",
                                                "10.9.9.1:1",
                                                "10.9.9.2:1",
                                                "10.8.8.1:1",
                                                "[fd00:9::2]:1",
                                                "[fe80::2%" + link + "]:1",
                                                "[::ffff:10.9.9.2]:1"};
    const std::vector<std::string> elsewhere = {
        "10.8.8.2:1",         "10.7.7.2:1",    "10.6.6.1:1",      "10.5.5.1:1",
        "192.0.2.1:1",        "[fd00:8::2]:1", "[2001:db8::9]:1", "[fe80::2%" + bridge + "]:1",
        "[::ffff:10.8.8.2]:1"};
    std::vector<std::string> all = in_memory;
    all.insert(all.end(), elsewhere.begin(), elsewhere.end());
    EXPECT_EQ(in_memory_of({}, all), in_memory);
    // The socket's own address and interface count, where it has them.
    UdpConfig of_bridge;
    of_bridge.bind_device = "br0";
    EXPECT_THAT(in_memory_of(of_bridge, {"10.9.9.2:1", "10.8.8.2:1"}), ::testing::IsEmpty());
    run("ip rule add from 10.8.8.1 lookup 100 && ip route add default dev d0 table 100");
    UdpConfig of_address;
    of_address.bind = "10.8.8.1:0";
    EXPECT_EQ(in_memory_of(of_address, {"192.0.2.1:1"}), std::vector<std::string>{"192.0.2.1:1"});
  });
}

}  // namespace splitnic::fabric::udp_route_test
