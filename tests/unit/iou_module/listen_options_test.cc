// Addresses of --listen in short, and those that exclude each other.
#include "tests/unit/iou_module/parsed_options.h"

namespace splitnic::iou {
namespace listen_options_test {

using namespace parsed_options;

TEST(IouListenTest, B_14_short_addresses_and_one_port_for_all_of_them) {
  const auto outcome = parse_all({"--lan", "eth1", "--insecure-lab", "--listen", "192.0.2.7",
                                  "--listen", "2001:db8::7", "--listen", "[::1]:8000"});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.text;
  ASSERT_EQ(outcome.options->listen.size(), 3U);
  EXPECT_EQ(outcome.options->listen[0].text(), "udp://192.0.2.7:7471");
  EXPECT_EQ(outcome.options->listen[1].text(), "udp://[2001:db8::7]:7471");
  EXPECT_EQ(outcome.options->listen[2].text(), "udp://[::1]:8000");
  const auto both = [](const char* first, const char* second) {
    return parse_all({"--lan", "eth1", "--insecure-lab", "--listen", first, "--listen", second});
  };
  expect_refused(both("192.0.2.7", "udp://192.0.2.7:7471"), 2, "twice");
  expect_refused(both("::", "0.0.0.0"), 2,
                 "udp://[::]:7471 is every address, IPv4 and IPv6: leave udp://0.0.0.0:7471 out");
  expect_refused(both("192.0.2.7", "[::]"), 2, "leave udp://192.0.2.7:7471 out");
  EXPECT_TRUE(both("::", "0.0.0.0:8000").options.has_value());
}

}  // namespace listen_options_test
}  // namespace splitnic::iou
