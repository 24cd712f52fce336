// A port with several LIDs (LMC): each reaches it, and routes to them take different ways.
#include "fabric_emul/wire/port_lids.h"

#include <gtest/gtest.h>

#include <set>

#include "fabric_emul/switching/path_cell.h"
#include "tests/unit/fabric_emul/switching/path_of_a_node.h"
#include "tests/unit/fabric_emul/switching/routing_world.h"

namespace splitnic::fabric {
namespace port_lids_test {

using namespace switch_world;
using path_of_a_node::PathOfANodeTest;

// Leaves a and b, each with a cable to each of the spines; host h at a:3, the unit at b:3.
Topology two_spines(std::uint8_t lmc) {
  Topology t;
  t.switches = {{"a", Lid(1)}, {"b", Lid(2)}, {"s1", Lid(3)}, {"s2", Lid(4)}};
  t.nodes = {{"h", Lid(11), {"a", 3}}, {"unit", Lid(20), {"b", 3}, {}, lmc}};
  t.cables = {
      {{"a", 1}, {"s1", 1}}, {{"a", 2}, {"s2", 1}}, {{"b", 1}, {"s1", 2}}, {{"b", 2}, {"s2", 2}}};
  return t;
}

TEST(PortLidsTest, S004_18_a_mask_selects_the_lids) {
  const PortLids lids{Lid(20), 2};
  EXPECT_EQ(lids.count(), 4U);
  for (std::uint16_t lid = 0; lid < 64; ++lid) EXPECT_EQ(lids.has(Lid(lid)), lid / 4 == 5) << lid;
  for (unsigned path = 0; path < 4; ++path) {
    EXPECT_EQ(lids.of_path(path), Lid(static_cast<std::uint16_t>(20 + path)));
  }
  EXPECT_TRUE((PortLids{Lid(7), 0}.has(Lid(7))));
  EXPECT_FALSE((PortLids{Lid(7), 0}.has(Lid(6))));
}

TEST(PortLidsTest, S004_18_P_PATH_12_four_lids_in_turn_reach_the_port_and_a_fifth_does_not) {
  Topology topology = star(2);
  topology.nodes[1].lid = Lid(20);
  topology.nodes[1].lmc = 2;
  World world(topology);
  std::vector<Cell> sent;
  for (const unsigned to : {20U, 21U, 22U, 23U, 24U, 19U}) {
    const Lid lid(static_cast<std::uint16_t>(to));
    sent.push_back(cell(World::lid(1), lid, 100, to));
    ASSERT_TRUE(world.write(1, sent.back()));
  }
  world.settle();
  sent.resize(4);
  EXPECT_EQ(world.node(2).cells, sent);
  EXPECT_EQ(world.count(SwitchCounter::kDropLid), 2U);
  EXPECT_TRUE(world.is_balanced());
}

TEST(PortLidsTest, P_PATH_12_a_node_sends_with_the_lids_of_its_port_only) {
  Topology topology = star(2);
  topology.nodes[1].lid = Lid(20);
  topology.nodes[1].lmc = 1;
  World world(topology);
  for (const Lid lid : {Lid(20), Lid(21), Lid(22), Lid(19)}) {
    ASSERT_TRUE(world.write(2, cell(lid, World::lid(1))));
  }
  world.settle();
  EXPECT_EQ(world.node(1).cells.size(), 2U);
  EXPECT_EQ(world.count(SwitchCounter::kDropSource), 2U);
}

// To its peers a node is one, whatever they count by the LID: it begins links with its base LID.
TEST(PortLidsTest, P_PATH_3_a_node_begins_links_with_its_base_lid_only) {
  Topology topology = star(2);
  topology.nodes[1].lid = Lid(20);
  topology.nodes[1].lmc = 1;
  World world(topology);
  unsigned passed = 0;
  for (const InitStep step : {InitStep::kHello, InitStep::kChallenge, InitStep::kAnswer,
                              InitStep::kReady, InitStep::kBye, InitStep::kProbe}) {
    for (const Lid from : {Lid(20), Lid(21)}) {
      Init init = link_world::hello_of(0x202, 1002);
      init.step = step;
      std::vector<std::byte> datagram;
      link_world::append_init(datagram, init);
      const std::uint64_t before = world.count(SwitchCounter::kDropSource);
      ASSERT_TRUE(send_path_cell(world.node(2).link(), from, World::lid(1), kPathQpn, datagram,
                                 kDefaultPartition, nullptr));
      world.node(2).port.flush(world.clock.now());
      world.settle();
      const bool begins = step == InitStep::kHello || step == InitStep::kAnswer;
      const bool is_dropped = world.count(SwitchCounter::kDropSource) > before;
      EXPECT_EQ(is_dropped, begins && from == Lid(21)) << name(step);
      passed += is_dropped ? 0 : 1;
    }
  }
  EXPECT_EQ(world.node(1).cells.size(), passed);
  Gnh gnh{};
  ASSERT_TRUE(world.write(
      2, cell_with(Lid(21), World::lid(1), 8, 0, [&](CellHead& head) { head.gnh = &gnh; })));
  world.settle();
  EXPECT_EQ(world.node(1).cells.size(), passed);
}

TEST(PortLidsTest, S000_35_lids_of_one_port_take_the_ways_of_equal_length_in_turn) {
  for (const RoutingKind kind : {RoutingKind::kShortest, RoutingKind::kUpDown,
                                 RoutingKind::kFatTree, RoutingKind::kLayered}) {
    for (const TablesPer per : {TablesPer::kSwitch, TablesPer::kInput}) {
      const auto tables = routing_world::tables_of(graph_of(two_spines(2)), kind, per);
      std::vector<std::uint8_t> ports;
      for (std::uint16_t lid = 20; lid < 24; ++lid) {
        ports.push_back(tables[0].port_of(Lid(lid), 3));
        EXPECT_EQ(tables[1].port_of(Lid(lid), 1), 3) << name(kind);  // at b, to the unit
      }
      EXPECT_EQ(std::set(ports.begin(), ports.end()), (std::set<std::uint8_t>{1, 2})) << name(kind);
      EXPECT_NE(ports[0], ports[1]) << name(kind);
      EXPECT_EQ(ports[0], ports[2]) << name(kind);
    }
  }
}

// The spine by which a cell for this LID leaves the pod of the switch `at`.
std::uint32_t spine_of(const SubnetGraph& graph, const routing_world::Tables& tables,
                       std::uint32_t at, Lid lid) {
  while (!graph.switches[at].name.starts_with("spine")) {
    const std::uint8_t port = tables[at].port_of(lid);
    const auto& cables = graph.switches[at].cables;
    const auto cable = std::ranges::find(cables, port, &SubnetGraph::Cable::port);
    if (cable == cables.end()) return 0;
    at = cable->to;
  }
  return at;
}

// A tree of three levels with four spines.
TEST(PortLidsTest, S000_35_four_lids_use_four_spines) {
  Topology topology = routing_world::made("fattree:4");
  topology.nodes.back().lid = Lid(4000);
  topology.nodes.back().lmc = 2;
  const SubnetGraph graph = graph_of(topology);
  const auto tables = routing_world::tables_of(graph, RoutingKind::kFatTree);
  std::set<std::uint32_t> spines;
  for (std::uint16_t lid = 4000; lid < 4004; ++lid) {
    spines.insert(spine_of(graph, tables, graph.nodes.front().at, Lid(lid)));
  }
  EXPECT_EQ(spines.size(), 4U);
  EXPECT_FALSE(spines.contains(0));
}

// With a second LID of one port, the routes to others are as they were.
TEST(PortLidsTest, routes_to_other_ports_do_not_depend_on_it) {
  Topology more = routing_world::made("fattree:4");
  const Topology one = more;
  const auto before = routing_world::tables_of(graph_of(one), RoutingKind::kUpDown);
  more.nodes[2].lmc = 3;
  more.nodes[2].lid = Lid(40000);
  const auto after = routing_world::tables_of(graph_of(more), RoutingKind::kUpDown);
  for (std::size_t at = 0; at < before.size(); ++at) {
    for (std::size_t node = 0; node < one.nodes.size(); ++node) {
      if (node == 2) continue;
      const Lid lid = one.nodes[node].lid;
      EXPECT_EQ(before[at].port_of(lid, kNoInput), after[at].port_of(lid, kNoInput));
    }
  }
}

TEST_F(PathOfANodeTest, S000_35_P_PATH_13_a_link_is_between_the_lids_by_which_it_began) {
  start_host(500, 3);
  run(2s);
  ASSERT_NE(host->end->watch.link, nullptr);
  EXPECT_EQ(host->end->link().local_lid(), Lid(11));
  EXPECT_EQ(host->end->link().remote_lid(), Lid(23));
  ASSERT_NE(unit->end->port.by_lid(Lid(11)), nullptr);
  EXPECT_EQ(unit->end->port.by_lid(Lid(11))->local_lid(), Lid(23));
  EXPECT_EQ(host->end->link().peer_name().substr(0, 9), "n2+3 via ");
  EXPECT_TRUE(carries());
}

TEST_F(PathOfANodeTest, a_host_that_starts_again_by_another_path_gets_a_link_there) {
  start_host(500, 3);
  run(2s);
  ASSERT_TRUE(carries());
  for (const unsigned path : {0U, 1U, 0U}) {
    host.reset();
    start_host(501 + path, path);
    run(3s);
    ASSERT_NE(host->end->watch.link, nullptr) << path;
    EXPECT_EQ(host->end->link().remote_lid().value, 20 + path);
    EXPECT_TRUE(carries()) << path;
  }
}

TEST_F(PathOfANodeTest, a_path_that_the_port_has_not_is_no_node) {
  ::testing::internal::CaptureStderr();
  start_host(500, 4);
  run(2s);
  EXPECT_EQ(host->end->watch.link, nullptr);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("cannot resolve node 'n2+4'"),
            std::string::npos);
}

// Host and unit have several LIDs each, and the host uses all of the unit.
class AllPathsOfANodeTest : public PathOfANodeTest {
 protected:
  AllPathsOfANodeTest() : PathOfANodeTest(1) {}
  // The number of paths at both ends.
  std::pair<unsigned, unsigned> paths() {
    Link& near = host->end->link();
    return {near.paths(), unit->end->port.by_lid(near.local_lid())->paths()};
  }
  void send_to(Lid lid) {
    Link& near = host->end->link();
    EXPECT_TRUE(link_world::write(near, cell(near.local_lid(), lid, 100, 1)));
    host->end->port.flush(clock.now());
    run(500ms);
  }
};

TEST_F(AllPathsOfANodeTest, S000_46_P_PATH_13_the_peer_of_who_uses_all_paths_does_so_too) {
  start_host(500, kAllPaths);
  run(2s);
  ASSERT_NE(host->end->watch.link, nullptr);
  EXPECT_EQ(host->end->link().remote_lid(), Lid(20));
  EXPECT_EQ(paths(), std::pair(4U, 2U));  // control cells of the host have come to all LIDs
  send_to(Lid(20));
  send_to(Lid(22));
  EXPECT_EQ(unit->end->cells.size(), 2U);
  EXPECT_TRUE(carries());
  std::set<Lid> taken;
  for (unsigned i = 0; i < 8; ++i) taken.insert(host->end->link().next_remote_lid());
  EXPECT_EQ(taken, (std::set<Lid>{Lid(20), Lid(21), Lid(22), Lid(23)}));
  // The next process of the host uses one, and the unit too after a while.
  host.reset();
  start_host(501, 0);
  run(3s);
  ASSERT_TRUE(carries());
  EXPECT_EQ(paths(), std::pair(1U, 2U));
  run(10s);
  EXPECT_EQ(paths(), std::pair(1U, 1U));
  send_to(Lid(21));
  EXPECT_EQ(paths(), std::pair(1U, 2U)) << "cells with data count too";
}

// Cells for another LID than the base are no sign of it where the link began there.
TEST_F(AllPathsOfANodeTest, S000_46_who_names_one_path_gets_replies_by_one) {
  start_host(500, 3);
  run(2s);
  ASSERT_TRUE(carries());
  send_to(Lid(23));
  EXPECT_EQ(paths(), std::pair(1U, 1U));
}

// A switch that is back may read another file.
TEST_F(AllPathsOfANodeTest, the_lids_of_a_peer_are_asked_once_more_when_the_switch_is_back) {
  start_host(500, kAllPaths);
  run(2s);
  ASSERT_TRUE(carries());
  topology.nodes[1].lmc = 1;
  start_switch(8);
  run(3s);
  EXPECT_EQ(paths(), std::pair(2U, 2U));
  EXPECT_TRUE(carries());
}

// The switch starts again, and the link from end to end stays.
TEST_F(PathOfANodeTest, a_path_survives_a_restart_of_the_switch) {
  start_host(500, 2);
  run(2s);
  ASSERT_TRUE(carries());
  start_switch(8);
  run(3s);
  EXPECT_TRUE(carries());
  EXPECT_EQ(unit->end->watch.events, std::vector<std::string>{"up"});
}

// The number of its LIDs was that of others.
TEST_F(AllPathsOfANodeTest, S004_18_a_port_with_other_lids_has_one_until_its_switch_replies) {
  start_host(500, kAllPaths);
  run(2s);
  ASSERT_EQ(host->attachment.own_lids(), (PortLids{Lid(24), 1}));
  topology.nodes[0].lid = Lid(25);
  topology.nodes[0].lmc = 0;
  start_switch(8);
  for (int i = 0; i < 3000; ++i) {
    clock.advance(i % 10 == 0 ? 10ms : 0ms);
    sw->step(clock.now());
    host->end->step(clock.now());
    if (host->attachment.is_attached()) {
      ASSERT_TRUE(is_valid(host->attachment.own_lids()));
    }
  }
  EXPECT_EQ(host->attachment.own_lids(), (PortLids{Lid(25), 0}));
}

// Of the port that asks, by whatever LID.
TEST(PortLidsTest, P_PATH_14_a_port_learns_its_lids_from_the_switch) {
  Topology topology = star(1);
  topology.nodes[0].lid = Lid(20);
  topology.nodes[0].lmc = 2;
  World world(topology);
  const auto ask = [&](Lid as, std::string_view what) {
    Mgmt m;
    m.kind = MgmtKind::kResolve;
    m.transaction = 5;
    m.eui64 = Eui64(0x201);
    m.instance = 1001;
    m.private_data = base::as_bytes(what);
    world.node(1).cells.clear();
    EXPECT_TRUE(send_mgmt(world.node(1).link(), as, Lid(1), m, kDefaultPartition));
    world.node(1).port.flush(world.clock.now());
    world.settle();
    std::vector<std::byte> reply;
    for (const Cell& got : world.node(1).cells) {
      Mgmt resolved;
      const auto payload = payload_of_path_cell(got, kSwitchQpn, false);
      if (!payload || parse_mgmt(*payload, resolved) != MgmtError::kNone) continue;
      EXPECT_EQ(resolved.kind, MgmtKind::kResolved);
      reply.assign(resolved.private_data.begin(), resolved.private_data.end());
    }
    return reply;
  };
  const auto bytes = [](std::initializer_list<int> values) {
    std::vector<std::byte> out;
    for (const int value : values) out.push_back(static_cast<std::byte>(value));
    return out;
  };
  EXPECT_EQ(ask(Lid(20), "+"), bytes({0, 20, 0, 2}));
  EXPECT_EQ(ask(Lid(22), "+"), bytes({0, 20, 0, 2}));
  EXPECT_EQ(ask(Lid(22), "+20"), bytes({0, 20, 0, 2}));
  for (const char* none : {"+21", "+1", "+0", "+x", "+20000", "+99999", "+-20", "+20x"}) {
    EXPECT_EQ(ask(Lid(20), none), bytes({})) << none;
  }
  EXPECT_EQ(ask(Lid(20), "n1+3"), bytes({0, 23}));
  EXPECT_EQ(ask(Lid(20), "n1+4"), bytes({}));
  EXPECT_EQ(ask(Lid(20), "n1"), bytes({0, 20}));
}

}  // namespace port_lids_test
}  // namespace splitnic::fabric
