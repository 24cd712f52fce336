// Addresses of --listen in short, and those that exclude each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "iou_module/options.h"

namespace splitnic::iou {
namespace listen_options_test {

using control::ParseOutcome;

ParseOutcome<IouOptions> parse_all(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"splitnic-iou"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse(static_cast<int>(argv.size()), argv.data(), "lab");
}

void expect_refused(const ParseOutcome<IouOptions>& outcome, const std::string& part) {
  EXPECT_FALSE(outcome.options.has_value());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.text, ::testing::HasSubstr(part));
  EXPECT_EQ(outcome.text.find('\n'), outcome.text.size() - 1) << "one line: " << outcome.text;
}

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
  expect_refused(both("192.0.2.7", "udp://192.0.2.7:7471"), "twice");
  expect_refused(both("::", "0.0.0.0"),
                 "udp://[::]:7471 is every address, IPv4 and IPv6: leave udp://0.0.0.0:7471 out");
  expect_refused(both("192.0.2.7", "[::]"), "leave udp://192.0.2.7:7471 out");
  EXPECT_TRUE(both("::", "0.0.0.0:8000").options.has_value());
}

}  // namespace listen_options_test
}  // namespace splitnic::iou
