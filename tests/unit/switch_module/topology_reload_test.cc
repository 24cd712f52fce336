// Topology files that are read again: what changes at once, and what waits for the next start.
#include "switch_module/topology_reload.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "switch_module/topology_text.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/switch_module/topology_error.h"

namespace splitnic::fabric_switch {
namespace topology_reload_test {

using Files = std::vector<std::size_t>;

constexpr const char* kSwitches = "cables = [\"a:1 - b:2\"]\n[switches.a]\nlid = 1\n";
constexpr const char* kRest =
    "[switches.b]\nlid = 2\n[nodes.host]\nlid = 11\nat = \"a:2\"\n"
    "[nodes.unit]\nlid = 20\nat = \"b:1\"\n";
const std::string kFile = std::string(kSwitches) + kRest;
const std::string kOffice = "[partitions.office]\nid = 0x8001\nmembers = [\"host\", \"unit\"]\n";

class TopologyReloadTest : public ::testing::Test {
 protected:
  TopologyReloadTest() {
    for (const std::string& path : paths) write(path, kFile);
    reload.start({read_topology(paths[0]).value(), read_topology(paths[1]).value()});
  }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::trunc) << text;
  }
  // The files with another policy, which is in force from now on, and those that wait.
  Files taken() {
    const auto changes = reload.read();
    EXPECT_TRUE(changes) << changes.error().text();
    Files files;
    for (const auto& policy : changes->policies) files.push_back(policy.file);
    waiting = changes->at_start;
    reload.take(*changes);
    return files;
  }

  const support::TempFolder folder;
  const std::vector<std::string> paths{folder.path("one.toml"), folder.path("two.toml")};
  TopologyReload reload{paths};
  Files waiting;
};

TEST_F(TopologyReloadTest, S004_20_S004_21_lanes_and_partitions_change_at_once) {
  EXPECT_EQ(taken(), Files{});
  write(paths[1], kFile + kOffice);
  EXPECT_EQ(taken(), Files{1});
  EXPECT_EQ(taken(), Files{}) << "it is in force";
  write(paths[0], std::string(kSwitches) +
                      "lanes = [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0]\n" + kRest);
  EXPECT_EQ(taken(), Files{0});
  write(paths[0], kFile);
  write(paths[1], kFile);
  EXPECT_EQ(taken(), (Files{0, 1})) << "and back";
  EXPECT_EQ(waiting, Files{});
  write(paths[0], kFile + "# a comment\n");
  EXPECT_EQ(taken(), Files{});
  EXPECT_EQ(waiting, Files{});
}

TEST_F(TopologyReloadTest, S004_20_whatever_else_differs_waits_with_all_of_its_file) {
  const std::vector<std::string> others{
      kFile + kOffice + "[nodes.new]\nlid = 12\nat = \"a:3\"\n",
      "routing = \"updown\"\n" + kFile + kOffice,
      "pin_vl = true\n" + kFile + kOffice,
      "policy = \"manager\"\n" + kFile + kOffice,
      kFile + "key = \"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\"\n" + kOffice,
  };
  for (const std::string& text : others) {
    ASSERT_EQ(error_of(text), "");
    write(paths[0], text);
    write(paths[1], kFile + kOffice);
    EXPECT_EQ(taken(), Files{1}) << text;
    EXPECT_EQ(waiting, Files{0}) << text;
    write(paths[1], kFile);
    EXPECT_EQ(taken(), Files{1});
    EXPECT_EQ(waiting, Files{0}) << "at each reload";
  }
  write(paths[0], kFile);
  EXPECT_EQ(taken(), Files{});
  EXPECT_EQ(waiting, Files{});
}

TEST_F(TopologyReloadTest, S004_20_an_error_in_one_file_changes_nothing) {
  write(paths[0], kFile + kOffice);
  write(paths[1], kFile + "colour = 1\n");
  const auto changes = reload.read();
  ASSERT_FALSE(changes);
  EXPECT_NE(changes.error().text().find("two.toml"), std::string::npos) << changes.error().text();
  EXPECT_NE(changes.error().text().find("colour"), std::string::npos);
  write(paths[1], kFile);
  EXPECT_EQ(taken(), Files{0});
}

TEST(TopologyPolicyTest, S004_19_a_file_may_leave_lanes_and_partitions_to_the_manager) {
  const std::string text = "policy = \"manager\"\n" + kFile + kOffice;
  const auto file = parse_topology(text);
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->topology.policy_from, fabric::GivenBy::kManager);
  // A switch has none until it gets them; the manager has those of the file.
  const auto plan = plan_of(file->topology, "a").value();
  EXPECT_FALSE(plan.has_policy);
  EXPECT_TRUE(plan.ports[2].partitions.empty());
  const fabric::SwitchPolicy policy = policies_of(file->topology).at("a");
  ASSERT_EQ(policy.ports.size(), 1U);
  EXPECT_EQ(policy.ports[0].number, 2);
  EXPECT_EQ(policy.ports[0].keys, std::vector{fabric::PartitionKey(0x8001)});
  const std::string written = topology_text(file->topology);
  EXPECT_NE(written.find("policy = \"manager\"\n"), std::string::npos);
  const auto of_file = parse_topology("policy = \"file\"\n" + kFile + kOffice);
  ASSERT_TRUE(of_file) << of_file.error().text();
  EXPECT_TRUE(plan_of(of_file->topology, "a")->has_policy);
  EXPECT_EQ(error_of("policy = \"nobody\"\n" + kFile),
            "line 1, column 10: policy: 'nobody' is not file or manager");
}

TEST(TopologyPolicyTest, S004_20_a_leg_to_a_lan_is_in_no_partition) {
  const std::string text = "prefix = \"fd00:a::/64\"\n" + kFile + kOffice + "[routes]\n\"::/0\" = ";
  EXPECT_EQ(error_of(text + "\"a\"\n"), "");
  EXPECT_EQ(error_of(text + "\"host\"\n"),
            "line 17, column 10: [routes] ::/0: host is in a partition, and the leg to a LAN is in "
            "none");
}

}  // namespace topology_reload_test
}  // namespace splitnic::fabric_switch
