// Options about interfaces that are elsewhere, and about I/O units that announce themselves.
#include <gtest/gtest.h>

#include "control/daemon/mdns.h"
#include "tests/unit/host_module/parsed_options.h"

namespace splitnic::host {
namespace options_test {
namespace {

constexpr const char* kUnitKey = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
constexpr const char* kOtherKey = "AAIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";

}  // namespace

TEST(HostOptionsTest, B_08_interfaces_of_others_and_elsewhere) {
  const auto adopted = with({"--tap-adopt"});
  ASSERT_TRUE(adopted.options) << adopted.text;
  EXPECT_TRUE(adopted.options->adopts_tap);
  EXPECT_TRUE(adopted.options->is_here());
  const auto passed = with({"--tap-fd", "9"});
  ASSERT_TRUE(passed.options) << passed.text;
  EXPECT_EQ(passed.options->tap_fd, 9);
  EXPECT_TRUE(passed.options->adopts_tap);
  EXPECT_FALSE(passed.options->is_here());
  const auto elsewhere = with({"--netns", "pod"});
  ASSERT_TRUE(elsewhere.options) << elsewhere.text;
  EXPECT_EQ(elsewhere.options->net_namespace, "pod");
  EXPECT_FALSE(elsewhere.options->is_here());
  // Another interface of that name may carry the fabric.
  EXPECT_TRUE(with({"--netns", "pod", "--fabric-dev", "nic0"}).options);
  for (const char* fd : {"2", "-1", "x", "65536"}) {
    expect_refused(with({"--tap-fd", fd}), 2, "--tap-fd");
  }
  expect_refused(with({"--tap-fd", "9", "--netns", "pod"}), 2, "leave --netns out");
  expect_refused(with({"--tap", "file:a,b", "--tap-adopt"}), 2, "--tap-adopt: --tap is not");
  expect_refused(with({"--tap", "file:a,b", "--tap-fd", "9"}), 2, "--tap-fd: --tap is not");
  expect_refused(with({"--tap", "file:a,b", "--netns", "pod"}), 2, "--netns: --tap is not");
}

TEST(HostOptionsTest, commands_of_up_and_down) {
  const auto none = with({});
  ASSERT_TRUE(none.options) << none.text;
  EXPECT_FALSE(none.options->hooks.are_given());
  const auto both = with({"--up", "ip link set nic0 up", "--down", "logger gone"});
  ASSERT_TRUE(both.options) << both.text;
  EXPECT_EQ(both.options->hooks.up, "ip link set nic0 up");
  EXPECT_EQ(both.options->hooks.down, "logger gone");
  EXPECT_TRUE(with({"--down", "true"}).options->hooks.are_given());
  expect_refused(with({"--up", ""}), 2, "--up: no command");
  expect_refused(with({"--tap", "file:a,b", "--down", "true"}), 2, "--down: --tap is not");
}

TEST(HostOptionsTest, an_empty_value_is_none) {
  expect_refused(with({"--netns", ""}), 2, "--netns: the value is empty");
  expect_refused(with({"--fabric-dev", ""}), 2, "--fabric-dev: the value is empty");
  expect_refused(with({"--name="}), 2, "--name");
  expect_refused(with({"--capture", "-"}), 2, "--capture: this writes a file; splitnic capture");
}

TEST(HostOptionsTest, B_07_any_unit_whose_key_is_known) {
  if (!control::kHasMdns) {
    expect_refused(parse_all({"--connect", "any"}), 2, "libavahi-core-dev");
    return;
  }
  std::vector<std::string> typed = {"--connect", "any", "--key-file", "k", "--peer", kUnitKey};
  const auto one = parse_all(typed);
  ASSERT_TRUE(one.options) << one.text;
  ASSERT_EQ(one.options->units.size(), 1U);
  EXPECT_TRUE(one.options->units[0].is_announced);
  EXPECT_EQ(one.options->units[0].text(), "any");
  std::vector<std::string> twice = typed;
  twice.insert(twice.end(), {"--peer", kUnitKey});
  expect_refused(parse_all(twice), 2, "is given twice: name another I/O unit");
  typed.insert(typed.end(), {"--peer", kOtherKey});
  EXPECT_EQ(parse_all(typed).options->units.size(), 2U);
  typed.insert(typed.end(), {"--connect", "shm://x"});
  expect_refused(parse_all(typed), 2, "--connect");
  expect_refused(parse_all({"--connect", "any"}), 2, "--connect any: give --key-file");
  expect_refused(parse_all({"--connect", "any", "--insecure-lab"}), 2, "--connect any");
}

TEST(HostOptionsTest, S000_34_units_behind_one_switch_have_its_key) {
  const auto of = [](const char* second, const char* key) {
    return parse_all({"--connect", "udp://office:1?via=192.0.2.7:7500", "--connect", second,
                      "--key-file", "k", "--peer", kUnitKey, "--peer", key});
  };
  const char* const lab = "udp://lab:1?via=192.0.2.7:7500";
  expect_refused(of(lab, kOtherKey), 2, "are behind one port of a switch: give its key for both");
  EXPECT_TRUE(of(lab, kUnitKey).options);
  EXPECT_TRUE(of("udp://lab:1?via=192.0.2.8:7500", kOtherKey).options) << "another switch";
  EXPECT_TRUE(of("udp://192.0.2.7:7500", kOtherKey).options) << "an I/O unit at that address";
}

}  // namespace options_test
}  // namespace splitnic::host
