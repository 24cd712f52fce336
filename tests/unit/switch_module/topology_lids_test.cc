// A topology file that leaves the LIDs of nodes to the subnet manager.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "switch_module/topology_file.h"
#include "switch_module/topology_text.h"

namespace splitnic::fabric_switch {
namespace topology_lids_test {

using fabric::Lid;

TEST(TopologyLidsTest, S004_19_a_file_may_leave_the_lids_of_nodes_to_the_manager) {
  const std::string switches = "[switches.a]\nlid = 1\n[switches.b]\nlid = 2\n";
  const std::string text = "lids = \"manager\"\ncables = [\"a:1 - b:2\"]\n" + switches +
                           "[nodes.unit]\nat = \"b:1\"\nlmc = 1\n[nodes.host]\nat = \"a:2\"\n";
  const auto file = parse_topology(text);
  ASSERT_TRUE(file) << file.error().text();
  const fabric::Topology& topology = file->topology;
  EXPECT_EQ(topology.lids_from, fabric::GivenBy::kManager);
  EXPECT_EQ(topology.nodes[0].lid, Lid(4));
  EXPECT_EQ(topology.nodes[1].lid, Lid(3));
  // A switch knows none until it gets them, and has no way to them.
  const auto plan = plan_of(topology, "a").value();
  EXPECT_EQ(plan.ports[2].lid, Lid());
  EXPECT_EQ(plan.nodes.at("unit").base, Lid());
  EXPECT_EQ(plan.nodes.at("unit").count(), 2U);
  EXPECT_NE(plan.tables.port_of(Lid(2)), 0);
  for (const std::uint16_t lid : {std::uint16_t{3}, std::uint16_t{4}, std::uint16_t{5}})
    EXPECT_EQ(plan.tables.port_of(Lid(lid)), 0) << lid;
  const std::string written = topology_text(topology);
  EXPECT_EQ(topology_text(parse_topology(written)->topology), written);
  const auto of_file =
      parse_topology("lids = \"file\"\n" + switches + "[nodes.unit]\nlid = 11\nat = \"b:1\"\n");
  ASSERT_TRUE(of_file) << of_file.error().text();
  EXPECT_EQ(plan_of(of_file->topology, "b")->ports[1].lid, Lid(11));
}

TEST(TopologyLidsTest, S004_19_lids_that_a_manager_gives_are_not_in_the_file) {
  const std::string from = "lids = \"manager\"\n";
  const std::string node = "[nodes.host]\nat = \"a:2\"\n";
  const std::string a = "[switches.a]\nlid = 1\n";
  const auto error_of = [](const std::string& text) { return parse_topology(text).error().text(); };
  EXPECT_EQ(error_of(from + a + node + "lid = 11\n"),
            "line 6, column 7: [nodes.host] lid: the subnet manager gives it: leave out lid, or "
            "lids = \"manager\"");
  EXPECT_EQ(error_of(from + "[switches.a]\n" + node),
            "line 2, column 11: [switches.a]: lid is missing");
  EXPECT_EQ(error_of("lids = \"nobody\"\n" + a),
            "line 1, column 8: lids: 'nobody' is not file or manager");
  EXPECT_EQ(
      error_of(from + "prefix = \"fd00:a::/64\"\n" + a + node),
      "line 1, column 8: lids: a subnet with a prefix has its LIDs in the file: leave out one");
  std::string many = from + a;
  for (int i = 0; i < 384; ++i) {
    many += "[switches.s" + std::to_string(i) + "]\nlid = " + std::to_string(i + 2) + "\n" +
            "[nodes.n" + std::to_string(i) + "]\nat = \"s" + std::to_string(i) + ":1\"\nlmc = 7\n";
  }
  EXPECT_NE(error_of(many).find("lids: there are not enough LIDs for all nodes"), std::string::npos)
      << error_of(many);
}

}  // namespace topology_lids_test
}  // namespace splitnic::fabric_switch
