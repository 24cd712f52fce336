#include "host_module/local_addresses.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace splitnic::host {
namespace local_addresses_test {

TEST(LocalAddressesTest, what_the_interface_has_and_nothing_else) {
  const auto found = local_addresses("lo");
  const lan::LocalAddress loopback{.bytes = {127, 0, 0, 1}};
  EXPECT_EQ(std::ranges::count(found, loopback), 1);
  EXPECT_TRUE(local_addresses("l").empty());
  EXPECT_TRUE(local_addresses("no-such-name").empty());
}

}  // namespace local_addresses_test
}  // namespace splitnic::host
