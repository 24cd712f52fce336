// Tests that interfaces that stand on another one are found.
#include <gtest/gtest.h>
#include <net/if.h>

#include <set>
#include <string>

#include "lan_bridge/ports/netlink_link.h"
#include "tests/support/network_namespace.h"

namespace splitnic::lan {
namespace {

std::set<std::string> stack_on(const char* interface) {
  std::set<std::string> names;
  const auto stack = NetlinkLink::stack_of(::if_nametoindex(interface));
  EXPECT_TRUE(stack) << (stack ? "" : stack.error().text());
  if (!stack) return names;
  for (const unsigned index : *stack) {
    std::array<char, IF_NAMESIZE> name{};
    names.insert(::if_indextoname(index, name.data()));
  }
  return names;
}

TEST(NetlinkStackTest, L_11_bridges_and_what_stands_on_them_are_found) {
  support::in_namespace([] {
    support::run(
        "ip link add lan0 type veth peer name far0 && ip link add lan1 type veth peer name far1");
    EXPECT_EQ(stack_on("lan0"), (std::set<std::string>{"lan0"}));
    support::run(
        "ip link add br0 type bridge && ip link set lan0 master br0 && "
        "ip link add link br0 name over_br0 type macvlan && "
        "ip link add link lan1 name over_lan1 type macvlan");
    EXPECT_EQ(stack_on("lan0"), (std::set<std::string>{"lan0", "br0", "over_br0"}));
    EXPECT_EQ(stack_on("lan1"), (std::set<std::string>{"lan1", "over_lan1"}));
    EXPECT_EQ(stack_on("br0"), (std::set<std::string>{"br0", "over_br0"}));
  });
}

}  // namespace
}  // namespace splitnic::lan
