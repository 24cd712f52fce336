// Options of the host from a file of settings: errors, and what is known of it afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/host_module/config_file.h"
#include "tests/unit/host_module/parsed_options.h"

namespace splitnic::host {
namespace options_test {

using ::testing::HasSubstr;

TEST(HostOptionsFileTest, B_17_errors_of_the_configuration_file_have_line_and_name) {
  const auto refused = [](const std::string& text, const std::string& part) {
    const ConfigFile file(text);
    expect_refused(with({"--config", file.path()}), 2, part);
  };
  refused(
      "# a comment\ncolour = \"red\"\n",
      "in the configuration file, line 2, column 1: 'colour' is not an option of splitnic-host");
  refused("\ninsecure_lab = true\n", "line 2, column 1: 'insecure_lab' is not an option");
  refused("mtu = 1400\n\nfailback = \"soon\"\n",
          "in the configuration file, line 3, column 1: --failback: ");
  refused("log-level = \"loud\"\n", "line 1, column 1: --log-level: 'loud' is none of");
  const ConfigFile file("log-level = \"info\"\n");
  const auto outcome = with({"--config", file.path(), "--log-level", "loud"});
  expect_refused(outcome, 2, "--log-level: 'loud'");
  EXPECT_EQ(outcome.text.find("line 1"), std::string::npos) << "it is not from the file";
}

TEST(HostOptionsFileTest, B_17_a_value_of_another_kind_has_line_and_column) {
  const auto refused = [](const std::string& line, const std::string& part) {
    const ConfigFile file("# a comment\n" + line + "\n");
    expect_refused(with({"--config", file.path()}), 2, "in the configuration file, " + part);
  };
  for (const char* value : {"\"maybe\"", "7", "[true, false]", "\"true\"", "1.5"}) {
    refused("busy-poll = " + std::string(value), "line 2, column 13: --busy-poll: ");
    refused("no-gso = " + std::string(value), "line 2, column 10: --no-gso: ");
  }
  refused("busy-poll = \"maybe\"", "line 2, column 13: --busy-poll: 'maybe' is not true or false");
  refused("busy-poll = maybe", "line 2, column 13: ");
  refused("mtu = true", "line 2, column 7: --mtu: a value is needed");
  refused("connect = [\"a\", true]", "line 2, column 17: --connect: a value is needed");
  refused("mtu = [1400, 1500]", "line 2, column 7: --mtu: one value is needed");
  refused("mtu = 1400.5", "line 2, column 7: 'mtu' is neither");
  refused("mtu = 14x", "line 2, column 9: ");
  refused("mtu = 14000000", "line 2, column 1: --mtu: ");
  refused("nic = -1", "line 2, column 1: --nic: ");
  refused("mtu = 99999999999999999999", "line 2, column ");
  refused("name = \"abc", "line 2, column 8: the string that begins here does not end in its line");
  refused("connect = [\"a\",\n'b\n]", "line 3, column 1: the string that begins here");
}

TEST(HostOptionsFileTest, B_17_an_empty_list_is_refused) {
  for (const char* option : {"pool", "connect", "mtu"}) {
    const ConfigFile file(std::string(option) + " = []\n");
    expect_refused(with({"--config", file.path()}), 2,
                   "--" + std::string(option) + ": the list is empty: leave the option out");
  }
}

TEST(HostOptionsFileTest, B_17_a_file_that_cannot_be_read_is_refused_with_the_reason) {
  expect_refused(with({"--config", "/nonexistent/a.toml"}), 2,
                 "--config: /nonexistent/a.toml: No such file or directory");
  expect_refused(with({"--config", "/tmp"}), 2, "--config: /tmp: it is a folder");
}

TEST(HostOptionsFileTest, B_04_what_was_given_is_known_by_name) {
  const ConfigFile file("failback = 7\nbusy-poll = true\nkeep-tap = false\nmtu = 1400\n");
  const auto outcome = with({"--config", file.path(), "--mtu", "1300"});
  ASSERT_TRUE(outcome.options) << outcome.text;
  EXPECT_EQ(outcome.given.config_path, file.path());
  const auto& values = outcome.given.values;
  EXPECT_EQ(values.at("failback"), std::vector<std::string>{"7"});
  EXPECT_EQ(values.at("mtu"), std::vector<std::string>{"1300"}) << "the command line wins";
  EXPECT_EQ(values.at("busy-poll"), std::vector<std::string>{"true"});
  EXPECT_FALSE(values.contains("keep-tap")) << "as without it";
  EXPECT_FALSE(values.contains("queues"));
  EXPECT_FALSE(values.contains("config"));
}

}  // namespace options_test
}  // namespace splitnic::host
