#include "base/host_port.h"

#include <gtest/gtest.h>

namespace splitnic::base::host_port_test {

TEST(HostPort, an_address_with_colons_has_brackets) {
  const auto named = split_host_port("h.example:7000");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->host, "h.example");
  EXPECT_EQ(named->port, "7000");
  EXPECT_FALSE(named->is_bracketed);
  const auto v6 = split_host_port("[fe80::1%eth0]:1");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "fe80::1%eth0");
  EXPECT_EQ(v6->port, "1");
  EXPECT_TRUE(v6->is_bracketed);
  EXPECT_EQ(split_host_port(":7000")->host, "");
  EXPECT_EQ(split_host_port("[]:7000")->host, "");
}

TEST(HostPort, anything_else_is_refused) {
  for (const char* text : {"", ":", "host", "host:", "[::1]", "[::1]:", "[::1]7000", "[::1:7000",
                           "::1:7000", "fe80::1", "[a]b]:1", "[:1", "a[b]:c:1"}) {
    EXPECT_FALSE(split_host_port(text)) << text;
  }
}

}  // namespace splitnic::base::host_port_test
