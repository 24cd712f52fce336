#include "host_module/host_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric_emul/wire/ids.h"
#include "lan_bridge/frame_ring.h"
#include "tests/unit/host_module/config_file.h"
#include "tests/unit/host_module/parsed_options.h"

namespace splitnic::host {
namespace options_test {

using ::testing::HasSubstr;

TEST(HostOptionsTest, S004_20_a_host_is_in_one_partition) {
  EXPECT_EQ(with({}).options->common.pair.partition, fabric::kDefaultPartition);
  EXPECT_EQ(with({"--partition", "0x8001"}).options->common.pair.partition,
            fabric::PartitionKey(0x8001));
  expect_refused(with({"--partition", "0x8001", "--partition", "0x8002"}), control::kExitUsage,
                 "--partition: a host is in one");
}

TEST(HostOptionsTest, defaults) {
  const auto outcome = with({});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.text;
  const HostOptions& o = *outcome.options;
  EXPECT_EQ(o.units.at(0).connect.text(), "shm://x");
  EXPECT_EQ(o.tap.kind, control::PortSpec::Kind::kTap);
  EXPECT_EQ(o.tap.interface, "nic0");
  EXPECT_FALSE(o.keeps_tap);
  EXPECT_EQ(o.fabric_device, "");
  EXPECT_EQ(o.nic, 0U);
  EXPECT_EQ(o.mac.kind, MacChoice::Kind::kStable);
  EXPECT_FALSE(o.common.queues.has_value()) << "as many as there are processors";
  EXPECT_EQ(o.common.processors, control::Processors{});
  EXPECT_EQ(o.idle_release, 0U);
  EXPECT_EQ(o.common.pair.mode, messaging::Mode::kRdma);
  EXPECT_EQ(o.common.pair.pools, (std::vector<messaging::PoolSpec>{{1024, 2048}, {64, 65536}}));
  EXPECT_EQ(o.common.port.mcp_wanted, 0);
  EXPECT_EQ(o.common.port.profile, fabric::LinkProfile::kSpeed);
  EXPECT_FALSE(o.common.is_busy_polling);
  EXPECT_FALSE(o.common.wake_latency.is_given());
  EXPECT_FALSE(o.common.mtu.has_value());
  EXPECT_EQ(o.common.name(), "lab-nic0");
  EXPECT_FALSE(o.common.is_insecure_lab);
  EXPECT_EQ(o.common.pair.send_threshold, 0U);
  EXPECT_EQ(o.common.control_path, "/run/splitnic/lab-nic0.sock");
  EXPECT_EQ(o.common.log_level, "info");
  EXPECT_EQ(o.common.capture_path, "");
}

TEST(HostOptionsTest, every_option) {
  const auto outcome = parse_all({"--connect",
                                  "udp://192.0.2.7:7471",
                                  "--tap",
                                  "lan7",
                                  "--keep-tap",
                                  "--fabric-dev",
                                  "eth0",
                                  "--nic",
                                  "3",
                                  "--mac",
                                  "02:00:00:00:00:01",
                                  "--queues",
                                  "3",
                                  "--cpus",
                                  "4-5,1",
                                  "--mode",
                                  "send",
                                  "--pool",
                                  "16x4096",
                                  "--pool",
                                  "32x128",
                                  "--cell",
                                  "256",
                                  "--link-profile",
                                  "full",
                                  "--busy-poll",
                                  "--keep-awake",
                                  "250",
                                  "--mtu",
                                  "9000",
                                  "--name",
                                  "desk",
                                  "--insecure-lab",
                                  "--send-threshold",
                                  "128",
                                  "--control",
                                  "/tmp/c.sock",
                                  "--log-level",
                                  "debug",
                                  "--capture",
                                  "f.pcapng"});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.text;
  const HostOptions& o = *outcome.options;
  EXPECT_EQ(o.units.at(0).connect.text(), "udp://192.0.2.7:7471");
  EXPECT_EQ(o.tap.interface, "lan7");
  EXPECT_TRUE(o.keeps_tap);
  EXPECT_EQ(o.fabric_device, "eth0");
  EXPECT_EQ(o.nic, 3U);
  EXPECT_EQ(o.mac.kind, MacChoice::Kind::kGiven);
  EXPECT_EQ(o.mac.given, (lan::MacAddress{2, 0, 0, 0, 0, 1}));
  EXPECT_EQ(o.common.pair.mode, messaging::Mode::kSend);
  EXPECT_EQ(o.common.pair.pools, (std::vector<messaging::PoolSpec>{{32, 128}, {16, 4096}}))
      << "given ones replace the default, smallest size first";
  EXPECT_EQ(o.common.port.mcp_wanted, 256);
  EXPECT_EQ(o.common.port.profile, fabric::LinkProfile::kFull);
  EXPECT_EQ(o.common.queues, 3U);
  EXPECT_EQ(o.common.processors, (control::Processors{4, 5, 1}));
  EXPECT_TRUE(o.common.is_busy_polling);
  EXPECT_EQ(o.common.wake_latency.held_for, std::chrono::milliseconds(250));
  EXPECT_EQ(o.common.mtu, 9000U);
  EXPECT_EQ(o.common.name(), "desk");
  EXPECT_TRUE(o.common.is_insecure_lab);
  EXPECT_EQ(o.common.pair.send_threshold, 128U + lan::kVnetHeaderBytes);
  EXPECT_EQ(o.common.control_path, "/tmp/c.sock");
  EXPECT_EQ(o.common.log_level, "debug");
  EXPECT_EQ(o.common.capture_path, "f.pcapng");
}

TEST(HostOptionsTest, name_decides_the_control_socket) {
  EXPECT_EQ(with({"--name", "n"}).options->common.control_path, "/run/splitnic/n.sock");
  EXPECT_EQ(with({"--tap", "file:a,b"}).options->common.name(), "lab-host");
}

TEST(HostOptionsTest, mac_nic_takes_the_lans) {
  EXPECT_EQ(with({"--mac", "nic"}).options->mac.kind, MacChoice::Kind::kNic);
}

TEST(HostOptionsTest, tap_may_be_files) {
  const auto outcome = with({"--tap", "file:in.pcap,out.pcap"});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.text;
  EXPECT_EQ(outcome.options->tap.kind, control::PortSpec::Kind::kFile);
  EXPECT_EQ(outcome.options->tap.output, "out.pcap");
  expect_refused(with({"--tap", "file:a,b", "--keep-tap"}), 2, "--keep-tap");
}

TEST(HostOptionsTest, H_5_without_keys_no_udp_on_loopback_either) {
  EXPECT_TRUE(parse_all({"--connect", "shm://demo"}).options.has_value());
  for (const char* open : {"udp://127.0.0.1:7471", "udp://[::1]:7471", "udp://localhost:7471",
                           "udp://[::ffff:127.0.0.1]:7471", "udp://192.0.2.7:7471",
                           "udp://[2001:db8::1]:7471", "udp://iou:7471"}) {
    expect_refused(parse_all({"--connect", open}), 2, "--insecure-lab");
    EXPECT_TRUE(parse_all({"--connect", open, "--insecure-lab"}).options.has_value()) << open;
  }
}

constexpr const char* kKey = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";

TEST(HostOptionsTest, with_keys_any_address) {
  const std::vector<std::string> keyed = {
      "--connect", "udp://192.0.2.7:7471", "--key-file", "k", "--peer", kKey};
  const auto outcome = parse_all(keyed);
  ASSERT_TRUE(outcome.options) << outcome.text;
  const control::KeyOptions& keys = outcome.options->common.keys;
  EXPECT_TRUE(keys.are_given());
  EXPECT_EQ(keys.key_file, "k");
  EXPECT_EQ(keys.psk_file, "");
  ASSERT_EQ(keys.peers.size(), 1U);
  EXPECT_EQ(keys.peers[0].bytes[31], std::byte{32});
  std::vector<std::string> with_psk = keyed;
  with_psk.insert(with_psk.end(), {"--psk-file", "p"});
  EXPECT_EQ(parse_all(with_psk).options->common.keys.psk_file, "p");
  EXPECT_EQ(keys.aead, fabric::session::best_aead_provider());
  const auto with_aead = [&](const std::string& name) {
    std::vector<std::string> typed = keyed;
    typed.insert(typed.end(), {"--aead", name});
    return parse_all(typed);
  };
  EXPECT_EQ(with_aead("auto").options->common.keys.aead, keys.aead);
  EXPECT_EQ(with_aead("openssl").options->common.keys.aead_name(), "OpenSSL");
  const auto ipsec_mb = with_aead("ipsec-mb");
  if (fabric::session::make_aead(fabric::session::AeadProvider::kIpsecMb) != nullptr) {
    EXPECT_EQ(ipsec_mb.options->common.keys.aead_name(), "libipsec-mb");
  } else {
    expect_refused(ipsec_mb, 2, "--aead ipsec-mb");
  }
  expect_refused(with_aead("rot13"), 2, "none of auto, ipsec-mb and openssl");

  const std::string far = "udp://192.0.2.7:7471";
  expect_refused(parse_all({"--connect", far, "--key-file", "k"}), 2, "--peer is missing");
  expect_refused(parse_all({"--connect", far, "--peer", kKey}), 2, "--key-file is missing");
  expect_refused(parse_all({"--connect", far, "--psk-file", "p"}), 2, "--key-file is missing");
  expect_refused(parse_all({"--connect", far, "--insecure-lab", "--aead", "openssl"}), 2,
                 "--aead: --key-file is missing");
  expect_refused(parse_all({"--connect", far, "--key-file", "k", "--peer", "abc"}), 2,
                 "--peer: 'abc' is not a public key");
  expect_refused(parse_all({"--connect", "shm://x", "--key-file", "k", "--peer", kKey}), 2,
                 "shm://x");
}

TEST(HostOptionsTest, several_units_in_order_of_preference) {
  const auto plain = with({"--connect", "shm://y", "--failback", "never"});
  ASSERT_TRUE(plain.options) << plain.text;
  ASSERT_EQ(plain.options->units.size(), 2U);
  EXPECT_EQ(plain.options->units[0].text(), "shm://x");
  EXPECT_EQ(plain.options->units[1].text(), "shm://y");
  EXPECT_FALSE(plain.options->failback.has_value());
  EXPECT_EQ(with({}).options->failback, 60U);
  EXPECT_EQ(with({"--failback", "0"}).options->failback, 0U);
  expect_refused(with({"--connect", "shm://x"}), 2, "shm://x is given twice");
  expect_refused(with({"--connect", "shm://2", "--connect", "shm://3", "--connect", "shm://4",
                       "--connect", "shm://5"}),
                 2, "at most 4");
  expect_refused(with({"stray"}), 2, "stray");
}

TEST(HostOptionsTest, each_unit_has_its_key) {
  const std::string other = "AAIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
  std::vector<std::string> typed = {"--connect",  "udp://192.0.2.7:7471",
                                    "--connect",  "udp://192.0.2.8:7471",
                                    "--key-file", "k",
                                    "--peer",     kKey};
  expect_refused(parse_all(typed), 2, "one for each --connect");
  typed.insert(typed.end(), {"--peer", other});
  const auto outcome = parse_all(typed);
  ASSERT_TRUE(outcome.options) << outcome.text;
  EXPECT_EQ(outcome.options->common.keys.peers.size(), 2U);
}

TEST(HostOptionsTest, help_and_version) {
  const auto help = parse_all({"--help"});
  EXPECT_FALSE(help.options.has_value());
  EXPECT_EQ(help.exit_code, 0);
  for (const char* name :
       {"--connect",      "--tap",          "--keep-tap",  "--fabric-dev",   "--nic",
        "--mac",          "--queues",       "--mode",      "--pool",         "--cell",
        "--busy-poll",    "--mtu",          "--name",      "--insecure-lab", "--send-threshold",
        "--control",      "--config",       "--log-level", "--capture",      "--version",
        "--link-profile", "--idle-release", "--cpus",      "--key-file",     "--psk-file",
        "--aead",         "--peer",         "--failback",  "--netns",        "--tap-adopt",
        "--tap-fd",       "--up",           "--down",      "--lane-dscp",    "--keep-awake"}) {
    EXPECT_THAT(help.text, HasSubstr(name));
  }
  const auto version = parse_all({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.text, ::testing::MatchesRegex("splitnic-host [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(HostOptionsTest, B_14_scheme_and_port_may_be_left_out) {
  const auto outcome = parse_all({"--connect", "192.0.2.7", "--connect", "unit.example",
                                  "--connect", "2001:db8::7", "--insecure-lab"});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.text;
  const auto& units = outcome.options->units;
  ASSERT_EQ(units.size(), 3U);
  EXPECT_EQ(units[0].text(), "udp://192.0.2.7:7471");
  EXPECT_EQ(units[1].text(), "udp://unit.example:7471");
  EXPECT_EQ(units[2].text(), "udp://[2001:db8::7]:7471");
  expect_refused(
      parse_all({"--connect", "192.0.2.7", "--connect", "udp://192.0.2.7:7471", "--insecure-lab"}),
      2, "given twice");
}

TEST(HostOptionsTest, bad_usage_is_2_in_one_line) {
  expect_refused(parse_all({}), 2, "--connect");
  expect_refused(parse_all({"--connect", "192.0.2.300"}), 2, "--connect");
  expect_refused(with({"--connect", "any"}), 2, "--connect any is for all units");
  expect_refused(parse_all({"--connect"}), 2, "--connect");
  expect_refused(with({"--frob"}), 2, "--frob");
  expect_refused(with({"stray"}), 2, "stray");
  const std::vector<std::pair<std::string, std::vector<std::string>>> bad = {
      {"--tap", {"a/b", "averylonginterface", "file:x", "new\nline"}},
      {"--fabric-dev", {"a b", "nic0"}},
      {"--nic", {"-1", "128", "x"}},
      {"--mac", {"01:00:00:00:00:01", "x", "00:00:00:00:00:00"}},
      {"--queues", {"0", "9", "x", "-1", "Auto", ""}},
      {"--cpus", {"x", ",", "0,", "1-0", "1024", "-1", "0-1-2"}},
      {"--keep-awake", {"", "-1", "x", "1.5", "60001"}},
      {"--idle-release", {"-1", "x", "1.5", "86401"}},
      {"--failback", {"-1", "x", "Never", "86401"}},
      {"--mode", {"push", "RDMA"}},
      {"--pool", {"x", "1024", "0x2048", "1024x70000"}},
      {"--cell", {"0", "63", "255", "65536", "x"}},
      {"--link-profile", {"", "shm", "Full"}},
      {"--lane-dscp", {"", "3", "3=", "=3", "3=64", "3=-1", "4=1", "14=1", "16=1", "x=1", "3=1=2"}},
      {"--mtu", {"67", "65522", "x", "1500.5"}},
      {"--name", {"a/b", ".hidden", "a b"}},
      {"--send-threshold", {"-1", "4069"}},
      {"--control", {std::string(108, 'x')}},
      {"--log-level", {"loud"}},
      {"--config", {"/nonexistent.toml"}}};
  for (const auto& [option, values] : bad) {
    for (const std::string& value : values) {
      expect_refused(with({option, value}), 2, option == "--config" ? value : option);
    }
  }
}

TEST(HostOptionsTest, pools_have_a_limit_in_all) {
  EXPECT_TRUE(with({"--pool", "65535x2048"}).options.has_value());
  expect_refused(with({"--pool", "65536x2048", "--pool", "1x65536"}), 2, "256 pools");
}

TEST(HostOptionsTest, queues_and_processors) {
  EXPECT_EQ(with({"--queues", "8"}).options->common.queues, 8U);
  EXPECT_FALSE(with({"--queues", "auto"}).options->common.queues.has_value());
  EXPECT_EQ(with({"--queues", "2", "--mode", "send"}).options->common.queues, 2U);
  const ConfigFile file("queues = 3\ncpus = \"0,2-3\"\n");
  const auto outcome = with({"--config", file.path()});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.text;
  EXPECT_EQ(outcome.options->common.queues, 3U);
  EXPECT_EQ(outcome.options->common.processors, (control::Processors{0, 2, 3}));
}

TEST(HostOptionsTest, S000_34_an_io_unit_by_its_name_behind_a_switch) {
  const auto udp = parse_all({"--connect", "udp://office:1?via=192.0.2.7:7500", "--insecure-lab"});
  ASSERT_TRUE(udp.options.has_value()) << udp.text;
  EXPECT_EQ(udp.options->units.at(0).node, "office");
  EXPECT_EQ(udp.options->units.at(0).connect.text(), "udp://192.0.2.7:7500");
  EXPECT_EQ(udp.options->units.at(0).text(), "udp://office:1?via=192.0.2.7:7500");
  EXPECT_EQ(udp.options->common.queues, 1U);
  const auto shm = parse_all({"--connect", "shm://office?via=sw"});
  ASSERT_TRUE(shm.options.has_value()) << shm.text;
  EXPECT_EQ(shm.options->units.at(0).node, "office");
  EXPECT_EQ(shm.options->units.at(0).connect.text(), "shm://sw");
  EXPECT_EQ(shm.options->units.at(0).text(), "shm://office?via=sw");
  EXPECT_EQ(with({}).options->units.at(0).node, "");
}

TEST(HostOptionsTest, S000_35_one_path_to_an_io_unit_at_a_time) {
  const auto one = parse_all({"--connect", "shm://office?via=sw&path=3"});
  ASSERT_TRUE(one.options.has_value()) << one.text;
  EXPECT_EQ(one.options->units.at(0).path, 3U);
  EXPECT_EQ(one.options->units.at(0).text(), "shm://office?via=sw&path=3");
  expect_refused(
      parse_all({"--connect", "shm://office?via=sw&path=1", "--connect", "shm://office?via=sw"}), 2,
      "are one I/O unit: give one of them, or one with &path=all");
  const auto all = parse_all({"--connect", "shm://office?via=sw&path=all"});
  ASSERT_TRUE(all.options.has_value()) << all.text;
  EXPECT_EQ(all.options->units.at(0).path, fabric::kAllPaths);
  EXPECT_TRUE(parse_all({"--connect", "shm://office?via=sw&path=1", "--connect",
                         "shm://office?via=other&path=1"})
                  .options.has_value());
  expect_refused(parse_all({"--connect", "shm://office?via=sw&path=128"}), 2, "path=0 to 127");
}

TEST(HostOptionsTest, S000_34_a_path_through_a_switch_that_is_refused) {
  const std::string good = "udp://office:1?via=192.0.2.7:7500";
  expect_refused(parse_all({"--connect", good}), 2, "--insecure-lab");
  expect_refused(parse_all({"--connect", "udp://office:2?via=192.0.2.7:7500", "--insecure-lab"}), 2,
                 "is not udp://UNIT:1?via=SWITCH:PORT");
  expect_refused(parse_all({"--connect", "udp://office:1?via=192.0.2.300", "--insecure-lab"}), 2,
                 "--connect");
  EXPECT_EQ(
      parse_all({"--connect", good, "--insecure-lab", "--queues", "2"}).options->common.queues, 2U);
  EXPECT_EQ(parse_all({"--connect", good, "--insecure-lab", "--link-profile", "full"})
                .options->common.port.profile,
            fabric::LinkProfile::kFull);
  expect_refused(parse_all({"--connect", good, "--key-file", "k"}), 2, "--peer is missing");
  const auto keyed = parse_all({"--connect", good.c_str(), "--key-file", "k", "--peer", kKey});
  ASSERT_TRUE(keyed.options) << keyed.text;
  EXPECT_EQ(keyed.options->common.keys.peers.size(), 1U) << "the key of the switch";
}

TEST(HostOptionsTest, configuration_file) {
  const ConfigFile file(
      "# a comment\n"
      "connect = \"udp://[::1]:7471\"\n"
      "tap = 'file:in.pcap,out.pcap'  # a comma in quotes\n"
      "mtu = 9000\n"
      "busy-poll = true\n"
      "keep-awake = 1000\n"
      "insecure-lab = true\n"
      "pool = [\"16x2048\", \"8x4096\"]\n");
  const auto outcome = parse_all({"--config", file.path(), "--mtu", "1400"});
  ASSERT_TRUE(outcome.options.has_value()) << outcome.text;
  EXPECT_EQ(outcome.options->units.at(0).connect.text(), "udp://[::1]:7471");
  EXPECT_EQ(outcome.options->tap.output, "out.pcap");
  EXPECT_EQ(outcome.options->common.mtu, 1400U) << "the command line wins";
  EXPECT_TRUE(outcome.options->common.is_busy_polling);
  EXPECT_EQ(outcome.options->common.wake_latency.held_for, std::chrono::seconds(1));
  EXPECT_TRUE(outcome.options->common.is_insecure_lab);
  EXPECT_EQ(outcome.options->common.pair.pools,
            (std::vector<messaging::PoolSpec>{{16, 2048}, {8, 4096}}));
}

TEST(HostOptionsTest, configuration_file_errors_are_2_in_one_line) {
  const auto refused = [](const std::string& text, const std::string& part) {
    const ConfigFile file(text);
    expect_refused(with({"--config", file.path()}), 2, part);
  };
  refused("mtu = \n", "line 1");
  refused("frob = 1\n", "frob");
  refused("mtu = 1.5\n", "mtu");
  refused("mtu = 10\n", "--mtu");
  refused("[host]\nmtu = 1500\n", "host");
  refused("mtu = [1500, 1400]\n", "--mtu");
  refused("config = \"other.toml\"\n", "config");
  refused("busy-poll = \"perhaps\"\n", "perhaps");
}

}  // namespace options_test
}  // namespace splitnic::host
