#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "control/daemon/mdns.h"
#include "iou_module/policy/command_line_rights.h"
#include "lan_bridge/frame_ring.h"
#include "tests/unit/iou_module/parsed_options.h"

namespace splitnic::iou {
namespace options_test {

using control::PortSpec;
using ::testing::HasSubstr;

using namespace parsed_options;

TEST(IouOptionsTest, defaults) {
  const auto outcome = parse_all({"--lan", "eth1", "--insecure-lab"});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.text;
  const IouOptions& o = *outcome.options;
  ASSERT_EQ(o.lan.size(), 1U);
  EXPECT_EQ(o.lan[0].kind, PortSpec::Kind::kPcap);
  EXPECT_EQ(o.lan[0].interface, "eth1");
  ASSERT_EQ(o.listen.size(), 1U);
  EXPECT_EQ(o.listen[0].text(), "udp://[::]:7471") << "IPv6 and IPv4 [B-14]";
  EXPECT_EQ(o.max_hosts, 64U);
  EXPECT_TRUE(o.allow.empty());
  EXPECT_FALSE(o.follows_lan_mtu);
  EXPECT_FALSE(o.is_exclusive);
  EXPECT_FALSE(o.follows_lan_mac);
  EXPECT_EQ(o.common.pair.mode, messaging::Mode::kRdma);
  EXPECT_EQ(o.common.pair.pools, (std::vector<messaging::PoolSpec>{{1024, 2048}, {64, 65536}}));
  EXPECT_EQ(o.common.name(), "lab-iou");
  EXPECT_EQ(o.common.control_path, "/run/splitnic/lab-iou.sock");
}

TEST(IouOptionsTest, B_07_a_unit_announces_a_udp_port_with_keys) {
  const std::vector<std::string> keyed = {"--key-file", "k", "--allow-key",
                                          "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="};
  const auto with_keys = [&](std::vector<std::string> words) {
    words.insert(words.begin(), keyed.begin(), keyed.end());
    return parse_all(words);
  };
  if (!control::kHasMdns) {
    expect_refused(with_keys({"--lan", "eth1", "--announce"}), 2, "libavahi-core-dev");
    return;
  }
  EXPECT_FALSE(with_keys({"--lan", "eth1"}).options->is_announced);
  const auto outcome = with_keys(
      {"--lan", "eth1", "--announce", "--listen", "shm://x", "--listen", "udp://192.0.2.7:7480"});
  ASSERT_TRUE(outcome.options) << outcome.text;
  EXPECT_TRUE(outcome.options->is_announced);
  EXPECT_EQ(outcome.options->announced()->port, 7480);
  expect_refused(with_keys({"--lan", "eth1", "--announce", "--listen", "shm://x"}), 2,
                 "--announce: there is no udp://");
  expect_refused(with({"--announce"}), 2, "--announce: --key-file is missing");
}

TEST(IouOptionsTest, S004_20_a_unit_is_in_several_partitions) {
  const auto table = [](const std::vector<std::string>& words) {
    const auto outcome = with(words);
    EXPECT_TRUE(outcome.options.has_value()) << outcome.text;
    const auto keys = outcome.options->common.partitions.keys();
    return std::vector<fabric::PartitionKey>(keys.begin(), keys.end());
  };
  using Keys = std::vector<fabric::PartitionKey>;
  EXPECT_EQ(table({}), Keys{fabric::kDefaultPartition});
  EXPECT_EQ(table({"--partition", "0x8001", "--partition", "2"}),
            (Keys{fabric::PartitionKey(0x8001), fabric::PartitionKey(2)}));
  for (const char* wrong : {"", "0", "0x8000", "0x10000", "-1", "0x", "x1", "1 ", "office"}) {
    expect_refused(with({"--partition", wrong}), control::kExitUsage, "--partition: '");
  }
  expect_refused(with({"--partition", "0x8001", "--partition", "1"}), control::kExitUsage,
                 "--partition: 1 is given twice");
  std::vector<std::string> many;
  for (int i = 1; i <= 17; ++i) many.insert(many.end(), {"--partition", std::to_string(i)});
  expect_refused(with(many), control::kExitUsage, "--partition: more than 16");
}

TEST(IouOptionsTest, S004_21_service_level) {
  EXPECT_EQ(with({}).options->common.pair.sl, 0);
  EXPECT_EQ(with({"--sl", "15"}).options->common.pair.sl, 15);
  for (const char* wrong : {"16", "-1", "high"}) {
    expect_refused(with({"--sl", wrong}), control::kExitUsage, "--sl");
  }
}

TEST(IouOptionsTest, S000_34_attached_to_a_switch) {
  const auto outcome =
      parse_all({"--lan", "eth1", "--attach", "udp://192.0.2.9:7500", "--insecure-lab"});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.text;
  EXPECT_EQ(outcome.options->switches.at(0).at.text(), "udp://192.0.2.9:7500");
  EXPECT_TRUE(outcome.options->listen.empty()) << "nobody attaches at an address that is not given";
  EXPECT_EQ(outcome.options->common.queues, 1U);
  EXPECT_EQ(with({"--attach", "shm://sw"}).options->listen.size(), 1U);
  EXPECT_TRUE(with({}).options->switches.empty());
  expect_refused(with({"--attach", "udp://192.0.2.9:7500"}), 2, "--insecure-lab");
  expect_refused(with({"--attach", "shm://sw", "--hosts", "f"}), 2, "leave out --hosts");
  expect_refused(with({"--attach", "shm://sw", "--peer", "k"}), 2, "--key-file is missing");
  expect_refused(with({"--attach", "shm://sw", "--allow", "10.0.0.0/8"}), 2, "leave out --allow");
  EXPECT_EQ(with({"--attach", "shm://sw", "--queues", "2"}).options->common.queues, 2U);
  expect_refused(with({"--attach", "shm://sw", "--attach", "shm://sw"}), 2, "given twice");
  EXPECT_EQ(with({"--attach", "udp://192.0.2.9:7500", "--insecure-lab", "--link-profile", "full"})
                .options->common.port.profile,
            fabric::LinkProfile::kFull);
  expect_refused(with({"--attach", "7500"}), 2, "--attach");
}

// With one host at most nobody is harmed by what it does.
TEST(IouOptionsTest, H_2_rights_of_all_hosts) {
  const auto rights = [](const std::vector<std::string>& words) {
    const auto outcome = with(words);
    EXPECT_TRUE(outcome.options.has_value()) << outcome.text;
    return command_line_rights(outcome.options.value_or(IouOptions{}));
  };
  EXPECT_EQ(rights({}), HostRights{});
  EXPECT_FALSE(rights({}).may_sniff || rights({}).may_forge);
  EXPECT_FALSE(rights({"--max-hosts", "2"}).may_sniff);
  const HostRights alone = rights({"--max-hosts", "1"});
  EXPECT_TRUE(alone.may_sniff && alone.may_forge);
  EXPECT_EQ(alone.group_frames_per_second, 0U);
  EXPECT_EQ(rights({"--grant", "sniff"}), (HostRights{.may_sniff = true}));
  EXPECT_EQ(rights({"--grant", "forge"}), (HostRights{.may_forge = true}));
  const HostRights both{.may_sniff = true, .may_forge = true};
  EXPECT_EQ(rights({"--grant", "sniff,forge"}), both);
  EXPECT_EQ(rights({"--grant", "forge", "--grant", "sniff"}), both);
  for (const char* bad : {"", "all", "sniff,", ",forge", "sniff forge", "Sniff"}) {
    expect_refused(with({"--grant", bad}), control::kExitUsage, "--grant");
  }
}

TEST(IouOptionsTest, every_option) {
  const auto outcome = parse_all({"--lan",
                                  "packet:eth1",
                                  "--lan",
                                  "file:in.pcap,out.pcap,loop,speed=2",
                                  "--listen",
                                  "udp://192.0.2.7:7471",
                                  "--listen",
                                  "udp://[2001:db8::1]:7471",
                                  "--listen",
                                  "shm://demo",
                                  "--max-hosts",
                                  "3",
                                  "--allow",
                                  "192.0.2.0/24",
                                  "--allow",
                                  "fd00::/8",
                                  "--lan-mtu",
                                  "follow",
                                  "--mode",
                                  "send",
                                  "--pool",
                                  "16x4096",
                                  "--cell",
                                  "1024",
                                  "--queues",
                                  "2",
                                  "--cpus",
                                  "0,3",
                                  "--busy-poll",
                                  "--mtu",
                                  "1400",
                                  "--name",
                                  "rack",
                                  "--insecure-lab",
                                  "--send-threshold",
                                  "4068",
                                  "--control",
                                  "c.sock",
                                  "--log-level",
                                  "error",
                                  "--capture",
                                  "f.pcapng"});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.text;
  const IouOptions& o = *outcome.options;
  ASSERT_EQ(o.lan.size(), 2U);
  EXPECT_EQ(o.lan[0].kind, PortSpec::Kind::kPacket);
  EXPECT_EQ(o.lan[1].kind, PortSpec::Kind::kFile);
  EXPECT_TRUE(o.lan[1].is_looped);
  ASSERT_EQ(o.listen.size(), 3U);
  EXPECT_EQ(o.listen[1].text(), "udp://[2001:db8::1]:7471");
  EXPECT_EQ(o.listen[2].text(), "shm://demo");
  EXPECT_EQ(o.max_hosts, 3U);
  EXPECT_EQ(o.allow.size(), 2U);
  EXPECT_TRUE(o.follows_lan_mtu);
  EXPECT_EQ(o.common.pair.mode, messaging::Mode::kSend);
  EXPECT_EQ(o.common.pair.pools, (std::vector<messaging::PoolSpec>{{16, 4096}}));
  EXPECT_EQ(o.common.port.mcp_wanted, 1024);
  EXPECT_EQ(o.common.queues, 2U);
  EXPECT_EQ(o.common.processors, (control::Processors{0, 3}));
  EXPECT_TRUE(o.common.is_busy_polling);
  EXPECT_EQ(o.common.mtu, 1400U);
  EXPECT_EQ(o.common.name(), "rack");
  EXPECT_EQ(o.common.pair.send_threshold, 4068U + lan::kVnetHeaderBytes);
  EXPECT_EQ(o.common.control_path, "c.sock");
  EXPECT_EQ(o.common.log_level, "error");
  EXPECT_EQ(o.common.capture_path, "f.pcapng");
}

TEST(IouOptionsTest, H_5_without_keys_no_udp_on_loopback_either) {
  EXPECT_TRUE(parse_all({"--lan", "eth1", "--listen", "shm://demo"}).options.has_value());
  expect_refused(parse_all({"--lan", "eth1"}), 2, "udp://[::]:7471");
  for (const char* open : {"udp://127.0.0.1:7471", "udp://127.9.9.9:7471", "udp://[::1]:7471",
                           "udp://[::ffff:127.0.0.1]:7471", "udp://0.0.0.0:7471", "udp://[::]:7471",
                           "udp://192.0.2.7:7471"}) {
    expect_refused(parse_all({"--lan", "eth1", "--listen", open}), 2, "--insecure-lab");
    // A shm address does not excuse the other.
    expect_refused(parse_all({"--lan", "eth1", "--listen", "shm://x", "--listen", open}), 2, open);
    EXPECT_TRUE(parse_all({"--lan", "eth1", "--listen", open, "--insecure-lab"}).options) << open;
  }
}

TEST(IouOptionsTest, S_56_attached_to_a_switch_with_keys) {
  const char* key = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
  const auto attached = [](std::vector<std::string> more) {
    std::vector<std::string> all{"--lan",      "eth1", "--attach", "udp://192.0.2.9:7500",
                                 "--key-file", "k"};
    std::ranges::move(more, std::back_inserter(all));
    return parse_all(all);
  };
  const auto outcome = attached({"--peer", key, "--hosts", "h"});
  ASSERT_TRUE(outcome.options) << outcome.text;
  EXPECT_TRUE(outcome.options->switches.at(0).key);
  EXPECT_TRUE(outcome.options->has_vouched_lids());
  EXPECT_TRUE(outcome.options->common.keys.peers.empty()) << "no host comes to it";
  expect_refused(attached({}), 2,
                 "--peer is missing, the key of the switch at udp://192.0.2.9:7500");
  expect_refused(attached({"--peer", "abc"}), 2, "--peer");
  expect_refused(attached({"--peer", key, "--allow-key", key}), 2, "leave out --allow-key");
  expect_refused(attached({"--peer", key, "--listen", "udp://192.0.2.9:7471"}), 2,
                 "--allow-key is missing");
  expect_refused(parse_all({"--lan", "eth1", "--key-file", "k", "--allow-key", key, "--peer", key}),
                 2, "--peer: there is no switch");
}

TEST(IouOptionsTest, attached_to_several_switches) {
  const std::string first = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
  const std::string second = "AgIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
  std::vector<std::string> typed{"--lan",      "eth1",
                                 "--key-file", "k",
                                 "--attach",   "udp://192.0.2.9:7500",
                                 "--attach",   "shm://sw",
                                 "--attach",   "udp://192.0.2.8:7500",
                                 "--peer",     first};
  expect_refused(parse_all(typed), 2,
                 "--peer is missing, the key of the switch at udp://192.0.2.8:7500");
  typed.insert(typed.end(), {"--peer", second});
  const auto outcome = parse_all(typed);
  ASSERT_TRUE(outcome.options) << outcome.text;
  const auto& switches = outcome.options->switches;
  ASSERT_EQ(switches.size(), 3U);
  EXPECT_EQ(switches[0].key->bytes[0], std::byte{1});
  EXPECT_FALSE(switches[1].has_vouched_lids()) << "shm has no keys";
  EXPECT_EQ(switches[2].key->bytes[0], std::byte{2});
  typed.insert(typed.end(), {"--hosts", "h"});
  expect_refused(parse_all(typed), 2, "shm://sw is a switch without keys");
  typed.insert(typed.end(), {"--attach", "shm://b", "--attach", "shm://c"});
  expect_refused(parse_all(typed), 2, "at most 4 switches");
}

TEST(IouOptionsTest, a_hosts_file_needs_keys_where_hosts_attach_over_udp) {
  EXPECT_EQ(with({}).options->hosts_path, "");
  const auto over_shm = with({"--hosts", "hosts.toml"});
  ASSERT_TRUE(over_shm.options) << over_shm.text;
  EXPECT_EQ(over_shm.options->hosts_path, "hosts.toml");
  expect_refused(with({"--hosts", "h", "--listen", "udp://192.0.2.7:7471", "--insecure-lab"}), 2,
                 "--hosts: --key-file is missing: hosts at udp://192.0.2.7:7471");
  const auto keyed = parse_all({"--lan", "eth1", "--key-file", "k", "--hosts", "h"});
  ASSERT_TRUE(keyed.options) << keyed.text;
  EXPECT_TRUE(keyed.options->common.keys.peers.empty()) << "the file has them";
  expect_refused(parse_all({"--lan", "eth1", "--key-file", "k"}), 2, "--allow-key is missing");
}

TEST(IouOptionsTest, allow_decides_by_address) {
  EXPECT_TRUE(with({}).options->allow.empty());
  const auto allow = with({"--allow", "192.0.2.0/24", "--allow", "fd00::/8"}).options->allow;
  const auto is_allowed = [&](const char* address) {
    return std::ranges::any_of(
        allow, [&](const auto& block) { return block.contains(*control::parse_ip(address)); });
  };
  EXPECT_TRUE(is_allowed("192.0.2.9"));
  EXPECT_TRUE(is_allowed("fd00::9"));
  EXPECT_FALSE(is_allowed("203.0.113.1"));
  EXPECT_FALSE(is_allowed("2001:db8::1"));
}

TEST(IouOptionsTest, with_keys_any_address) {
  const std::string key = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
  const std::string other = "AAIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
  const auto outcome = parse_all({"--lan", "eth1", "--key-file", "k", "--psk-file", "p",
                                  "--allow-key", key, "--allow-key", other});
  ASSERT_TRUE(outcome.options) << outcome.text;
  const control::KeyOptions& keys = outcome.options->common.keys;
  EXPECT_EQ(keys.key_file, "k");
  EXPECT_EQ(keys.psk_file, "p");
  EXPECT_EQ(keys.peers.size(), 2U);
  expect_refused(parse_all({"--lan", "eth1", "--key-file", "k"}), 2, "--allow-key is missing");
  expect_refused(parse_all({"--lan", "eth1", "--allow-key", key}), 2, "--key-file is missing");
  expect_refused(
      parse_all({"--lan", "eth1", "--key-file", "k", "--allow-key", key, "--allow-key", key}), 2,
      "given twice");
  expect_refused(parse_all({"--lan", "eth1", "--key-file", "k", "--allow-key", key + "="}), 2,
                 "not a public key");
}

TEST(IouOptionsTest, help_and_version) {
  const auto help = parse_all({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* name :
       {"--lan",       "--listen",       "--max-hosts",      "--allow",     "--lan-mtu",
        "--mode",      "--pool",         "--cell",           "--busy-poll", "--mtu",
        "--name",      "--insecure-lab", "--send-threshold", "--control",   "--config",
        "--log-level", "--capture",      "--queues",         "--cpus",      "--key-file",
        "--psk-file",  "--allow-key",    "--exclusive",      "--lan-mac",   "--keep-awake"}) {
    EXPECT_THAT(help.text, HasSubstr(name));
  }
  const auto version = parse_all({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.text, ::testing::MatchesRegex("splitnic-iou [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(IouOptionsTest, a_unit_has_as_many_nics_as_one_reply_lists) {
  std::vector<std::string> words{"--listen", "shm://x"};
  const auto add_nic = [&](std::uint32_t number) {
    words.insert(words.end(), {"--lan", "packet:eth" + std::to_string(number)});
  };
  for (std::uint32_t number = 0; number < control::kNicsMax; ++number) add_nic(number);
  const auto outcome = parse_all(words);
  ASSERT_TRUE(outcome.options) << outcome.text;
  EXPECT_EQ(outcome.options->lan.size(), control::kNicsMax);
  add_nic(control::kNicsMax);
  expect_refused(parse_all(words), 2, "--lan: more than 128 NICs");
}

TEST(IouOptionsTest, bad_usage_is_2_in_one_line) {
  expect_refused(parse_all({}), 2, "--lan");
  expect_refused(parse_all({"--insecure-lab", "--lan", "eth1", "--lan", "packet:eth1"}), 2,
                 "packet:eth1 is given twice");
  expect_refused(parse_all({"--lan", "eth1", "eth2", "--insecure-lab"}), 2, "eth2");
  expect_refused(with({"--tap", "nic0"}), 2, "--tap");
  expect_refused(with({"--listen", "shm://x"}), 2, "twice");
  const std::vector<std::pair<std::string, std::vector<std::string>>> bad = {
      {"--lan", {"usb:eth1", "a/b", "file:x"}},
      {"--listen", {"0.0.0.0:x", "udp://name:7471", "name", "udp://127.0.0.1:0", "shm://"}},
      {"--max-hosts", {"0", "4097", "-1", "x"}},
      {"--queues", {"0", "9", "x"}},
      {"--cpus", {"1-", "0 1"}},
      {"--allow", {"192.0.2.1/24", "name", "192.0.2.0/33"}},
      {"--lan-mtu", {"change"}},
      {"--keep-awake", {"-1", "1s", "60001"}},
      {"--lan-mac", {"change", "follow"}},
      {"--mode", {"both"}},
      {"--pool", {"1024"}},
      {"--cell", {"10"}},
      {"--mtu", {"0"}},
      {"--name", {"a/b"}},
      {"--send-threshold", {"x"}},
      {"--log-level", {"INFO"}}};
  for (const auto& [option, values] : bad) {
    for (const std::string& value : values) expect_refused(with({option, value}), 2, option);
  }
}

TEST(IouOptionsTest, configuration_file_may_repeat_options) {
  const std::string path = ::testing::TempDir() + "splitnic-iou-" + std::to_string(::getpid());
  std::ofstream(path) << "lan = ['packet:eth1', 'file:in.pcap,out.pcap']\n"
                         "listen = [\"udp://[::1]:7471\", \"shm://a\"]\n"
                         "max-hosts = 2\nlan-mtu = \"follow\"\ninsecure-lab = true\n";
  const auto outcome = parse_all({"--config", path});
  const auto other = parse_all({"--config", path, "--lan", "eth9"});
  std::remove(path.c_str());
  ASSERT_TRUE(outcome.options.has_value()) << outcome.text;
  ASSERT_EQ(outcome.options->lan.size(), 2U);
  EXPECT_EQ(outcome.options->lan[1].input, "in.pcap");
  ASSERT_EQ(outcome.options->listen.size(), 2U);
  EXPECT_EQ(outcome.options->listen[0].text(), "udp://[::1]:7471");
  EXPECT_EQ(outcome.options->max_hosts, 2U);
  EXPECT_TRUE(outcome.options->follows_lan_mtu);
  ASSERT_TRUE(other.options.has_value()) << other.text;
  ASSERT_EQ(other.options->lan.size(), 1U) << "the command line replaces the list";
  EXPECT_EQ(other.options->lan[0].interface, "eth9");
}

}  // namespace options_test
}  // namespace splitnic::iou
