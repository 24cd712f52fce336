// The topology file: every field, and an error with line and column for everything else.
#include "switch_module/topology_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "switch_module/topology_text.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/switch_module/topology_error.h"

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

TEST(TopologyFileTest, S004_20_partitions_give_the_nodes_their_keys) {
  using fabric::PartitionKey;
  using Keys = std::vector<PartitionKey>;
  const auto keys_with = [&](const std::string& tables) {
    std::vector<Keys> all;
    const auto file = parse_topology(kGood + tables);
    EXPECT_TRUE(file) << file.error().text();
    for (const auto& node : file->topology.nodes) all.push_back(node.partitions);
    return all;
  };
  const std::string office = "[partitions.office]\nid = 0x8001\n";
  const std::string lab = "[partitions.lab]\nid = 0x8002\n";
  EXPECT_EQ(keys_with(""), (std::vector<Keys>{{}, {}}));
  EXPECT_EQ(keys_with(office + "members = [\"host\", \"unit\"]\n" + lab + "limited = [\"host\"]\n"),
            (std::vector<Keys>{{PartitionKey(0x8001), PartitionKey(2)}, {PartitionKey(0x8001)}}));
  EXPECT_EQ(keys_with(office + "members = [\"unit\"]\n"),
            (std::vector<Keys>{{fabric::kDefaultPartition}, {PartitionKey(0x8001)}}));
}

TEST(TopologyFileTest, S004_21_a_switch_has_its_own_lanes) {
  std::string text = kGood;
  text.replace(text.find("lid = 1"), 7,
               "lid = 1\nlanes = [3, 2, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]");
  const auto file = parse_topology(text);
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->topology.switches[0].lanes,
            (fabric::SlToLane{3, 2, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(file->topology.switches[1].lanes, fabric::kLaneOfSl);
  EXPECT_EQ(plan_of(file->topology, "a")->lanes, file->topology.switches[0].lanes);
}

TEST(TopologyFileTest, X_15_a_subnet_may_pin_lanes) {
  EXPECT_FALSE(plan_of(parse_topology(kGood)->topology, "a")->pins_vl);
  const auto file = parse_topology(std::string("pin_vl = true\n") + kGood);
  ASSERT_TRUE(file) << file.error().text();
  for (const auto& one : file->topology.switches) {
    EXPECT_TRUE(plan_of(file->topology, one.name)->pins_vl);
  }
  const auto bad = parse_topology(std::string("pin_vl = 1\n") + kGood);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().text().find("pin_vl"), std::string::npos) << bad.error().text();
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

// A port of a switch for each queue: as many nodes, with one key and the LIDs of one node.
TEST(TopologyFileTest, S000_34_a_node_with_several_queues) {
  const std::string text = std::string(kKeyed) +
                           "[nodes.two]\nlid = 12\nat = [\"a:3\", \"a:5\"]\n" +
                           "key = \"BBIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\"\n";
  const auto file = parse_topology(text).value();
  ASSERT_EQ(file.topology.nodes.size(), 4U);
  const auto& first = file.topology.nodes[2];
  const auto& second = file.topology.nodes[3];
  EXPECT_EQ(first.name, "two");
  EXPECT_EQ(first.lid, Lid(12));
  EXPECT_EQ(first.at, (fabric::PortPlace{"a", 3}));
  EXPECT_EQ(second.name, "two#1");
  EXPECT_EQ(second.lid, Lid(12 + 6144));
  EXPECT_EQ(second.at, (fabric::PortPlace{"a", 5}));
  EXPECT_EQ(file.keys.at("two"), file.keys.at("two#1"));
}

// 2^LMC LIDs, of each queue.
TEST(TopologyFileTest, S004_18_a_node_with_several_lids) {
  const std::string text = std::string(kKeyed) +
                           "[nodes.two]\nlmc = 2\nlid = 16\nat = [\"a:3\", \"a:5\"]\n" +
                           "key = \"BBIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\"\n";
  const auto file = parse_topology(text).value();
  ASSERT_EQ(file.topology.nodes.size(), 4U);
  EXPECT_EQ(file.topology.nodes[1].lmc, 0U);
  EXPECT_EQ(file.topology.nodes[2].lids().of_path(3), Lid(19));
  EXPECT_EQ(file.topology.nodes[3].lids().of_path(3), Lid(19 + 6144));
  const auto plan = fabric::plan_of(file.topology, "a").value();
  const auto lid_of = [&](std::string_view name) {
    const auto place = fabric::place_of(plan, base::as_bytes(name));
    return place.size() == 2 ? base::load_be<std::uint16_t>(place.data()) : 0;
  };
  EXPECT_EQ(lid_of("two"), 16);
  EXPECT_EQ(lid_of("two+3"), 19);
  EXPECT_EQ(lid_of("two#1+1"), 17 + 6144);
  for (const char* none : {"two+4", "two+0", "two+01", "two+", "two+1+1", "+1", "host+1"}) {
    EXPECT_EQ(lid_of(none), 0) << none;
  }
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

TEST(TopologyFileTest, routing_is_shortest_unless_the_file_has_another) {
  EXPECT_EQ(parse_topology(kGood).value().topology.routing, fabric::RoutingKind::kShortest);
  for (const char* kind : {"shortest", "updown"}) {
    const std::string text = "routing = \"" + std::string(kind) + "\"\n" + kGood;
    EXPECT_EQ(fabric::name(parse_topology(text).value().topology.routing), kind);
  }
  constexpr const char* kTree = R"(routing = "fattree"
cables = ["leaf1:1 - spine:1", "leaf2:1 - spine:2"]
[switches]
leaf1.lid = 1
leaf2.lid = 2
spine.lid = 3
[nodes.a]
lid = 4
at = "leaf1:2"
[nodes.b]
lid = 5
at = "leaf2:2"
)";
  EXPECT_EQ(parse_topology(kTree).value().topology.routing, fabric::RoutingKind::kFatTree);
}

TEST(TopologyFileTest, a_topology_as_text_is_read_back) {
  fabric::Topology topology = parse_topology(kGood).value().topology;
  topology.routing = fabric::RoutingKind::kUpDown;
  topology.switches[0].name = topology.cables[0].a.of_switch = topology.nodes[0].at.of_switch =
      "a.b";
  topology.nodes[1].lmc = 2;
  const std::string text = topology_text(topology);
  const fabric::Topology read = parse_topology(text).value().topology;
  EXPECT_EQ(topology_text(read), text);
  EXPECT_EQ(read.routing, topology.routing);
  EXPECT_EQ(read.switches[0].name, "a.b");
  EXPECT_EQ(read.nodes[1].at, (fabric::PortPlace{"b", 1}));
  EXPECT_EQ(read.nodes[0].lmc, 0U);
  EXPECT_EQ(read.nodes[1].lmc, 2U);
  EXPECT_EQ(read.cables[0].b, (fabric::PortPlace{"b", 2}));
}

constexpr const char* kNetwork = R"(prefix = "fd00:a::/64"
[switches.a]
lid = 1
[switches.b]
lid = 2
[nodes.host]
lid = 11
at = "a:2"
[routes]
"fd00:b::/64" = "a"
"::/0" = "b"
[remotes]
office = "fd00:b::14"
)";

TEST(TopologyFileTest, S000_33_routes_and_nodes_of_other_subnets) {
  const auto file = parse_topology(kNetwork);
  ASSERT_TRUE(file) << file.error().text();
  const auto& network = file->topology.network.value();
  EXPECT_EQ(text_of(network.subnet), "fd00:a::");
  ASSERT_EQ(network.routes.size(), 2U);
  EXPECT_EQ(network.remotes.at("office"),
            network_address_of(network.routes[0].to.address, Lid(20)));
  const auto plan = plan_of(file->topology, "a").value().network.value();
  EXPECT_EQ(plan.routes[0].to.bits, 64U);  // the longest first
  EXPECT_EQ(plan.route_to(network.remotes.at("office"))->via, Lid(1));
  EXPECT_EQ(plan.route_to(network.subnet)->via, Lid(2));
  EXPECT_EQ(plan.routers, (std::set<Lid>{Lid(1), Lid(2)}));
  EXPECT_FALSE(parse_topology(kGood).value().topology.network);
}

// Each with one text of kNetwork replaced.
TEST(TopologyFileTest, S000_33_an_error_of_routes_names_line_and_column) {
  const auto error_with = [](const std::string& from, const std::string& to) {
    std::string text = kNetwork;
    text.replace(text.find(from), from.size(), to);
    return error_of(text);
  };
  EXPECT_EQ(error_with("prefix = \"fd00:a::/64\"", ""),
            "line 9, column 2: [routes]: prefix is missing");
  EXPECT_EQ(error_with("fd00:a::/64", "fd00:a::/48"),
            "line 1, column 10: prefix: 'fd00:a::/48' is not a prefix of 64 bits such as "
            "fd00:a::/64");
  EXPECT_EQ(error_with("fd00:a::/64", "10.0.0.0/8"),
            "line 1, column 10: prefix: '10.0.0.0/8' is not a prefix of 64 bits such as "
            "fd00:a::/64");
  EXPECT_EQ(error_with("\"::/0\"", "\"all\""),
            "line 11, column 1: [routes]: 'all' is not a prefix such as fd00:b::/64");
  EXPECT_EQ(error_with("\"::/0\"", "\"fd00:000b::/64\""),
            "line 11, column 1: [routes]: fd00:000b::/64 is given twice");
  EXPECT_EQ(error_with("\"::/0\"", "\"fd00:a::/64\""),
            "line 11, column 1: [routes]: fd00:a::/64 is in this subnet");
  EXPECT_EQ(error_with("= \"b\"", "= \"nobody\""),
            "line 11, column 10: [routes] ::/0: 'nobody' is not a switch or node of this file");
  // A leg to a LAN leads to no node of another subnet.
  EXPECT_EQ(error_with("\"fd00:b::/64\" = \"a\"\n\"::/0\" = \"b\"", "\"::/0\" = \"host\""),
            "line 12, column 10: [remotes] office: no route leads to fd00:b::14");
  EXPECT_EQ(error_with("fd00:b::14", "fd00:b::1:0014"),
            "line 13, column 10: [remotes] office: 'fd00:b::1:0014' is not a prefix and a LID such "
            "as fd00:b::14");
  EXPECT_EQ(error_with("fd00:b::14", "fd00:a::14"),
            "line 13, column 10: [remotes] office: fd00:a::14 is in this subnet");
  EXPECT_EQ(error_with("office", "host"), "line 13, column 1: [remotes]: host is in this subnet");
  EXPECT_EQ(error_with("\"::/0\" = \"b\"\n[remotes]\noffice = \"fd00:b::14\"",
                       "[remotes]\noffice = \"fd00:c::14\""),
            "line 12, column 10: [remotes] office: no route leads to fd00:c::14");
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
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 6\nlmc = 2\nat = \"a:1\"\n",
            "line 5, column 7: [nodes.n] lmc: lid 6 is no multiple of 4"},
        Bad{"[switches.a]\nlid = 7\n[nodes.n]\nlid = 4\nlmc = 2\nat = \"a:1\"\n",
            "line 5, column 7: [nodes.n] lmc: 7 is taken in line 2"},
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 4\nlmc = 2\nat = \"a:1\"\n"
            "[nodes.m]\nlid = 5\nat = \"a:2\"\n",
            "line 8, column 7: [nodes.m] lid: 5 is taken in line 5"},
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 128\nlmc = 8\nat = \"a:1\"\n",
            "line 5, column 7: [nodes.n] lmc: 8 is not a LID mask control from 0 to 7"},
        Bad{"[switches.a]\nlid = 2\nlmc = 1\n",
            "line 3, column 1: [switches.a]: there is no field lmc"},
        Bad{"[switches.a]\nlid = 0\n", "line 2, column 7: [switches.a] lid: 0 is not a LID from 1"},
        Bad{"[switches.a]\nlid = 65535\n", "line 2, column 7: [switches.a] lid: 65535 is not"},
        Bad{"[switches.a]\nlid = \"1\"\n", "line 2, column 7: [switches.a] lid: '1' is not"},
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 2\nat = []\n",
            "line 5, column 6: [nodes.n] at: the list is empty"},
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 2\nat = [\"a:1\", \"a:1\"]\n",
            "line 5, column 14: [nodes.n] at: a:1 is taken in line 5"},
        Bad{"[switches.a]\nlid = 6144\n[nodes.n]\nlid = 2\nat = [\"a:1\", \"a:2\"]\n",
            "line 2, column 7: lid: 6144 is not from 1 to 6143, as it must be where nodes have"},
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 2\nat = [\"a:1\", \"a:2\", \"a:3\", "
            "\"a:4\", \"a:5\", \"a:6\", \"a:7\", \"a:8\", \"a:9\"]\n",
            "line 5, column 6: [nodes.n] at"},
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
        Bad{"routing = \"fast\"\n[switches.a]\nlid = 1\n",
            "line 1, column 11: routing: 'fast' is not shortest, updown, fattree or layered"},
        Bad{"routing = 1\n",
            "line 1, column 11: routing: 1 is not shortest, updown, fattree or layered"},
        Bad{"cables = [\"a:1 - b:1\"]\nrouting = \"fattree\"\n[switches.a]\nlid = 1\n[switches.b]\n"
            "lid = 2\n[nodes.n]\nlid = 3\nat = \"a:2\"\n[nodes.m]\nlid = 4\nat = \"b:2\"\n",
            "line 2, column 11: routing: not a fat tree: a and b both have nodes, and a cable "
            "joins"},
        Bad{"[switches.a]\nlid = 1\nlanes = [0, 1]\n",
            "line 3, column 9: [switches.a] lanes: there are 2 of 16 service levels"},
        Bad{"[switches.a]\nlid = 1\nlanes = [0, 4]\n",
            "line 3, column 13: [switches.a] lanes: 4 is not a lane from 0 to 3"},
        Bad{"[nodes.n]\nlanes = [0]\n", "line 2, column 1: [nodes.n]: there is no field lanes"},
        Bad{"[partitions.p]\nmembers = []\n", "line 1, column 13: [partitions.p]: id is missing"},
        Bad{"[partitions.p]\nid = 1\n",
            "line 2, column 6: [partitions.p] id: 1 is not the key of the full members"},
        Bad{"[partitions.p]\nid = 0x8000\n",
            "line 2, column 6: [partitions.p] id: 32768 is not the key of the full members"},
        Bad{"[partitions.p]\nid = 0x8001\n[partitions.q]\nid = 0x8001\n",
            "line 4, column 6: [partitions.q] id: 0x8001 is taken in line 2"},
        Bad{"[partitions.p]\nid = 0x8001\nmembers = [\"n\"]\n",
            "line 3, column 12: [partitions.p] members: there is no [nodes.n]"},
        Bad{"[switches.a]\nlid = 1\n[nodes.n]\nlid = 2\nat = \"a:1\"\n"
            "[partitions.p]\nid = 0x8001\nmembers = [\"n\"]\nlimited = [\"n\"]\n",
            "line 9, column 12: [partitions.p] limited: n is given twice"},
        Bad{"[partitions.p]\nid = 0x8001\ncolour = 2\n",
            "line 3, column 1: [partitions.p]: there is no field colour"},
        Bad{"[partitions]\np = 1\n", "line 2, column 5: [partitions.p]: 1 is not a table"},
        Bad{"tables = \"one\"\n",
            "line 1, column 10: tables: 'one' is not per_switch or per_input"},
        Bad{"tables = 2\n", "line 1, column 10: tables: 2 is not per_switch or per_input"},
        Bad{"ports = 3\n",
            "line 1, column 1: there are only cables, routing, tables, lids, policy, pin_vl, "
            "prefix, "
            "[switches.NAME], "},
        Bad{"[switches]\na = 1\n", "line 2, column 5: [switches.a]: 1 is not a table"},
        Bad{"[switches.a\n", "line 1, column 12"}));

TEST(TopologyFileTest, a_file_that_cannot_be_read_is_named) {
  EXPECT_NE(read_topology("/nonexistent/f.toml").error().text().find("/nonexistent/f.toml"),
            std::string::npos);
  EXPECT_NE(read_topology("/").error().text().find("not a regular file"), std::string::npos);
}

}  // namespace topology_file_test
}  // namespace splitnic::fabric_switch
