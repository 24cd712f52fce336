// The topology file: every field, and an error with line and column for everything else.
#include "switch_module/topology_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace splitnic::fabric_switch {
namespace topology_file_test {

using fabric::Lid;

constexpr const char* kGood = R"(cables = ["a:1 - b:2"]
[switches.a]
lid = 1
[switches.b]
lid = 2
[nodes.host]
lid = 11
at = "a:2"
[nodes.unit]
lid = 20
at = "b:1"
)";

std::string error_of(const std::string& text) {
  const auto parsed = parse_topology(text);
  return parsed ? "" : parsed.error().text();
}

TEST(TopologyFileTest, S000_34_names_lids_and_cables) {
  const auto file = parse_topology(kGood).value();
  const fabric::Topology& topology = file.topology;
  EXPECT_TRUE(file.keys.empty());
  ASSERT_EQ(topology.switches.size(), 2U);
  EXPECT_EQ(topology.switches[1].name, "b");
  EXPECT_EQ(topology.switches[1].lid, Lid(2));
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(topology.nodes[0].name, "host");
  EXPECT_EQ(topology.nodes[0].lid, Lid(11));
  EXPECT_EQ(topology.nodes[0].at, (fabric::PortPlace{"a", 2}));
  ASSERT_EQ(topology.cables.size(), 1U);
  EXPECT_EQ(topology.cables[0].a, (fabric::PortPlace{"a", 1}));
  EXPECT_EQ(topology.cables[0].b, (fabric::PortPlace{"b", 2}));
}

constexpr const char* kKeyed = R"([switches.a]
lid = 1
key = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="
[nodes.host]
lid = 11
at = "a:2"
key = "AAIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="
[nodes.unit]
lid = 20
at = "a:1"
)";

TEST(TopologyFileTest, S_56_keys_of_switches_and_nodes_by_their_names) {
  const auto keys = parse_topology(kKeyed).value().keys;
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys.at("a").bytes[0], std::byte{1});
  EXPECT_EQ(keys.at("host").bytes[0], std::byte{0});
}

// Keys decide who attaches, so a file that others may write to has none that count.
TEST(TopologyFileTest, S_56_a_file_with_keys_is_for_its_owner_alone) {
  const support::TempFolder folder;
  const std::string path = folder.path() + "/f.toml";
  for (const char* text : {kGood, kKeyed}) {
    std::ofstream(path, std::ios::trunc) << text;
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    EXPECT_TRUE(read_topology(path));
    ASSERT_EQ(::chmod(path.c_str(), 0664), 0);
    const auto open_to_others = read_topology(path);
    EXPECT_EQ(open_to_others.has_value(), text == kGood);
    if (!open_to_others) {
      EXPECT_NE(open_to_others.error().text().find("chmod go-w"), std::string::npos);
    }
  }
}

struct Bad {
  const char* text;
  const char* error;
};

class BadTopologyTest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadTopologyTest, S000_34_an_error_names_line_and_column) {
  EXPECT_EQ(error_of(GetParam().text).substr(0, std::string(GetParam().error).size()),
            GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTopologyTest,
    ::testing::Values(
        Bad{"", "line 1, column 1: there is no switch"},
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 1\nat = \"a:1\"\n",
            "line 4, column 7: [nodes.n] lid: 1 is taken in line 2"},
        Bad{"[switches.a]\nlid = 1\n[nodes.a]\nlid = 2\nat = \"a:1\"\n",
            "line 3, column 8: a is taken in line 1"},
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 2\nat = \"a:1\"\n[nodes.m]\nlid = 3\nat = "
            "\"a:1\"\n",
            "line 8, column 6: [nodes.m] at: a:1 is taken in line 5"},
        Bad{"[switches.a]\nlid = 0\n", "line 2, column 7: [switches.a] lid: 0 is not a LID from 1"},
        Bad{"[switches.a]\nlid = 65535\n", "line 2, column 7: [switches.a] lid: 65535 is not"},
        Bad{"[switches.a]\nlid = \"1\"\n", "line 2, column 7: [switches.a] lid: '1' is not"},
        Bad{"[switches.a]\n", "line 1, column 11: [switches.a]: lid is missing"},
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 2\n",
            "line 3, column 8: [nodes.n]: at is missing"},
        Bad{"[switches.a]\nlid = 1\ncolour = 2\n",
            "line 3, column 1: [switches.a]: there is no field colour"},
        Bad{"[switches.a]\nlid = 1\nkey = \"abc\"\n",
            "line 3, column 7: [switches.a] key: 'abc' is not a public key: 44 characters"},
        Bad{"[switches.a]\nlid = 1\nkey = 7\n",
            "line 3, column 7: [switches.a] key: 7 is not a public key"},
        Bad{"[switches.a]\nlid = 1\nkey = \"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\"\n"
            "[nodes.n]\nlid = 2\nkey = \"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\"\n",
            "line 6, column 7: [nodes.n] key: it is taken in line 3"},
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 2\nat = \"b:1\"\n",
            "line 5, column 6: [nodes.n] at: there is no [switches.b]"},
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 2\nat = \"a:33\"\n",
            "line 5, column 6: [nodes.n] at: 'a:33' is not SWITCH:PORT with a port from 1 to 32"},
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 2\nat = \"a\"\n",
            "line 5, column 6: [nodes.n] at: 'a' is not SWITCH:PORT"},
        Bad{"cables = [\"a:1\"]\n[switches.a]\nlid = 1\n",
            "line 1, column 11: cables: 'a:1' is not 'SWITCH:PORT - SWITCH:PORT'"},
        Bad{"cables = [\"a:1 - a:2\"]\n[switches.a]\nlid = 1\n",
            "line 1, column 11: cables: both ends are at the same switch"},
        Bad{"cables = \"a:1 - b:2\"\n", "line 1, column 10: cables: 'a:1 - b:2' is not a list"},
        Bad{"ports = 3\n", "line 1, column 1: there are only cables and tables"},
        Bad{"[switches]\na = 1\n", "line 2, column 5: [switches.a]: 1 is not a table"},
        Bad{"[switches.a\n", "line 1, column 12"}));

TEST(TopologyFileTest, a_file_that_cannot_be_read_is_named) {
  EXPECT_NE(read_topology("/nonexistent/f.toml").error().text().find("/nonexistent/f.toml"),
            std::string::npos);
  EXPECT_NE(read_topology("/").error().text().find("not a regular file"), std::string::npos);
}

}  // namespace topology_file_test
}  // namespace splitnic::fabric_switch
