// The command line of splitnic-switch.
#include "switch_module/switch_options.h"

#include <gtest/gtest.h>

namespace splitnic::fabric_switch {
namespace switch_options_test {

control::ParseOutcome<SwitchOptions> parse_all(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "splitnic-switch");
  return parse(static_cast<int>(arguments.size()), arguments.data(), "box");
}

void expect_refused(const std::vector<const char*>& arguments, const std::string& words) {
  const auto outcome = parse_all(arguments);
  ASSERT_FALSE(outcome.options) << words;
  EXPECT_EQ(outcome.exit_code, control::kExitUsage);
  EXPECT_NE(outcome.text.find(words), std::string::npos) << outcome.text;
}

TEST(SwitchOptionsTest, ports_topology_and_name) {
  const auto outcome =
      parse_all({"--port", "udp://127.0.0.1:7500", "--port", "udp://there:7501,connect",
                 "--topology", "f.toml", "--name", "sw1", "--insecure-lab"});
  ASSERT_TRUE(outcome.options) << outcome.text;
  const SwitchOptions& options = *outcome.options;
  ASSERT_EQ(options.ports.size(), 2U);
  EXPECT_FALSE(options.ports[0].connects);
  EXPECT_TRUE(options.ports[1].connects);
  EXPECT_EQ(options.ports[1].at.host, "there");
  EXPECT_EQ(options.topologies, std::vector<std::string>{"f.toml"});
  EXPECT_EQ(options.common.name(), "sw1");
  EXPECT_EQ(options.common.queues, 1U);
  EXPECT_EQ(options.common.port.payload_crc, fabric::PayloadCrcMode::kOn);
}

// The keys of neighbours are in the topology file.
TEST(SwitchOptionsTest, S_56_with_a_key_no_lab_is_needed) {
  const auto outcome = parse_all({"--port", "udp://192.0.2.1:7500", "--topology", "f.toml",
                                  "--key-file", "k", "--psk-file", "p"});
  ASSERT_TRUE(outcome.options) << outcome.text;
  EXPECT_EQ(outcome.options->common.keys.key_file, "k");
  EXPECT_EQ(outcome.options->common.keys.psk_file, "p");
}

TEST(SwitchOptionsTest, a_name_follows_from_the_machine) {
  const auto outcome = parse_all({"--port", "shm://a", "--topology", "f"});
  ASSERT_TRUE(outcome.options) << outcome.text;
  EXPECT_EQ(outcome.options->common.name(), "box-switch");
}

TEST(SwitchOptionsTest, S002_43_lanes_have_a_dscp) {
  const auto outcome = parse_all({"--port", "shm://a", "--topology", "f", "--lane-dscp", "2=18"});
  ASSERT_TRUE(outcome.options) << outcome.text;
  EXPECT_EQ(outcome.options->common.port.dscp_of_lane.at(2), 18);
  expect_refused({"--port", "shm://a", "--topology", "f", "--lane-dscp", "2"}, "LANE=DSCP");
}

TEST(SwitchOptionsTest, S004_19_a_subnet_manager_has_a_priority) {
  const auto manage = [](const char* option) {
    const auto outcome = parse_all({"--port", "shm://a", "--topology", "f", option});
    EXPECT_TRUE(outcome.options) << outcome.text;
    return outcome.options->manage;
  };
  EXPECT_EQ(manage("--no-gso"), std::nullopt);
  EXPECT_EQ(manage("--manage"), 0);
  EXPECT_EQ(manage("--manage=255"), 255);
  expect_refused({"--port", "shm://a", "--topology", "f", "--manage=256"}, "--manage: '256'");
  expect_refused({"--port", "shm://a", "--topology", "f", "--manage=high"}, "--manage: 'high'");
}

TEST(SwitchOptionsTest, S000_48_the_leg_to_a_lan_is_the_port_behind_the_last) {
  const auto outcome =
      parse_all({"--port", "shm://a", "--port", "shm://b", "--topology", "f", "--lan", "tun:lan0"});
  ASSERT_TRUE(outcome.options) << outcome.text;
  EXPECT_EQ(outcome.options->lan, "lan0");
  EXPECT_EQ(outcome.options->lan_port(), 3);
  EXPECT_EQ(parse_all({"--port", "shm://a", "--topology", "f"}).options->lan_port(), 0);
  expect_refused({"--port", "shm://a", "--topology", "f", "--lan", "eth1"}, "is not tun:NAME");
  expect_refused({"--port", "shm://a", "--topology", "f", "--lan", "tun:a/b"}, "is not tun:NAME");
  std::vector<std::string> names;
  for (int i = 0; i < 32; ++i) names.push_back("shm://p" + std::to_string(i));
  std::vector<const char*> all{"--topology", "f", "--lan", "tun:lan0"};
  for (const std::string& name : names) {
    all.push_back("--port");
    all.push_back(name.c_str());
  }
  expect_refused(all, "there are 32 ports already");
}

TEST(SwitchOptionsTest, bad_usage_is_one_line) {
  expect_refused({"--topology", "f"}, "--port");
  expect_refused({"--port", "shm://a"}, "--topology");
  expect_refused({"--port", "udp://127.0.0.1:1", "--topology", "f"}, "--insecure-lab");
  expect_refused({"--port", "udp://name:1", "--topology", "f", "--insecure-lab"}, "is a name");
  expect_refused({"--port", "shm://a", "--port", "shm://a", "--topology", "f"}, "given twice");
  expect_refused(
      {"--port", "shm://a", "--port", "udp://127.0.0.1:1", "--topology", "f", "--insecure-lab"},
      "all udp:// or all shm://");
  expect_refused({"--port", "7500", "--topology", "f"}, "--port: '7500'");
  expect_refused({"--port", "shm://a", "--topology", "f", "--keep-awake", "1"}, "--keep-awake");
  expect_refused({"--port", "shm://a", "--topology", "f", "--key-file", "k"}, "has no keys");
  expect_refused({"--port", "udp://127.0.0.1:1", "--topology", "f", "--psk-file", "p"},
                 "--key-file is missing");
}

}  // namespace switch_options_test
}  // namespace splitnic::fabric_switch
