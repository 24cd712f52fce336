// The subnet manager gives end nodes their LIDs by management cells, with agents in the nodes, and
// asks the nodes who they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "fabric_emul/switching/queue_lid.h"
#include "tests/unit/fabric_emul/switching/lids_world.h"

namespace splitnic::fabric {
namespace subnet_lids_test {

using namespace subnet_world;

// The row's test: three switches and four nodes start, and management cells alone bring LIDs and
// tables.
TEST(SubnetLidsTest, S004_19_adapters_get_unique_lids_by_management_cells_only) {
  LidsWorld world(3);
  world.start_all("none", true);
  world.run(3s);
  for (const auto& [name, node] : world.attached) {
    EXPECT_TRUE(node->attachment.link().up()) << "the hop needs no LID";
    EXPECT_FALSE(node->attachment.is_attached()) << name;
    EXPECT_EQ(node->attachment.own_lids().base, Lid());
    EXPECT_EQ(world.state_of(name), SmpNode::PortState::kUnset);
  }
  world.start("s2", 5, true);
  ASSERT_TRUE(world.run_until(2s, [&] { return world.are_all_attached(); }));
  std::set<Lid> all{Lid(1), Lid(2), Lid(3)};  // of the switches
  for (const Topology::Node& node : world.file.nodes) {
    EXPECT_EQ(world.node(node.name).own_lids().base, node.lid);
    EXPECT_TRUE(all.insert(node.lid).second) << node.name;
  }
  Link& a = world.connect("n1", "n3");
  Link& b = world.connect("n4", "n2");
  EXPECT_TRUE(world.run_until(2s, [&] { return a.up() && b.up(); }));
  EXPECT_EQ(a.local_lid(), world.lid_of("n1"));
  EXPECT_EQ(a.remote_lid(), world.lid_of("n3"));
  for (const auto& [name, node] : world.attached) {
    EXPECT_EQ(world.state_of(name), SmpNode::PortState::kUp) << name;
  }
}

// Switches, by their reports, and the agents of nodes, by theirs: datagrams that nobody
// acknowledges, and that need no table and no LID.
TEST(SubnetLidsTest, S000_13_a_sweep_finds_switches_and_the_programs_of_nodes_through_loss) {
  for (const bool are_managed : {true, false}) {
    World world(are_managed ? managed_ring(4) : ring(4), World::Nodes::kAttached);
    // A datagram has several SMPs, and is lost with all of them.
    for (auto& [place, wire] : world.wires) wire->smp_loss_ppm = 50'000;
    world.start_all("s1", true);
    const SubnetManager& manager = *world.boxes.at("s1")->manager;
    ASSERT_TRUE(world.run_until(
        10s, [&] { return manager.nodes().programs().size() == world.file.nodes.size(); }));
    EXPECT_TRUE(world.run_until(3s, [&] { return manager.found().size() == 4; }));
    for (const Topology::Node& node : world.file.nodes) {
      EXPECT_EQ(manager.nodes().programs().at(node.at), "host-" + node.name);
    }
    EXPECT_GT(world.count("s1", SubnetCounter::kRepeat), 0U);
    EXPECT_TRUE(world.run_until(2s, [&] { return world.are_all_attached(); }));
  }
}

TEST(SubnetLidsTest,
     S004_19_P_SUBN_25_a_node_that_starts_again_has_its_lid_within_a_tenth_of_a_second) {
  LidsWorld world(3);
  world.start_all("s1");
  ASSERT_TRUE(world.run_until(3s, [&] { return world.are_all_attached(); }));
  world.run(1s);
  for (int i = 0; i < 3; ++i) {
    world.node("n2").send_bye(world.clock.now());
    world.settle();
    world.attach("n2");
    ASSERT_TRUE(world.run_until(1s, [&] { return world.node("n2").link().up(); }));
    EXPECT_TRUE(world.run_until(110ms, [&] { return world.are_all_attached(); })) << i;
    EXPECT_EQ(world.node("n2").own_lids().base, world.lid_of("n2"));
  }
}

TEST(SubnetLidsTest, S004_19_switches_and_managers_that_come_again_give_the_same_lids) {
  LidsWorld world(3);
  world.start("s1", 7);
  world.start("s2", 5);
  world.start("s3");
  ASSERT_TRUE(world.run_until(4s, [&] { return world.are_all_attached(); }));
  Link& link = world.connect("n2", "n3");
  ASSERT_TRUE(world.run_until(2s, [&] { return link.up(); }));
  // The standby takes over: nodes of other switches notice nothing.
  const std::uint64_t smps = world.smps_at("n3");
  world.kill("s1");
  ASSERT_TRUE(world.run_until(4s, [&] { return world.boxes.at("s2")->manager->is_master(); }));
  world.run(1s);
  EXPECT_TRUE(link.up());
  EXPECT_TRUE(world.node("n3").is_attached());
  EXPECT_LE(world.smps_at("n3"), smps + 2) << "the new manager asks once who it is";
  world.start("s1", 7);
  ASSERT_TRUE(world.run_until(4s, [&] { return world.are_all_attached(); }));
  // A switch has lost what it had.
  world.kill("s3");
  world.run(2s);
  EXPECT_FALSE(world.node("n3").is_attached());
  world.start("s3");
  ASSERT_TRUE(world.run_until(4s, [&] { return world.are_all_attached() && link.up(); }));
  for (const Topology::Node& node : world.file.nodes) {
    EXPECT_EQ(world.node(node.name).own_lids().base, node.lid);
  }
  // Without a manager a node does not keep what its switch has lost.
  for (const char* name : {"s1", "s2", "s3"}) world.kill(name);
  world.run(2s);
  world.start("s3");
  ASSERT_TRUE(world.run_until(3s, [&] { return world.hop_of("n3").up(); }));
  world.run(1s);
  EXPECT_FALSE(world.node("n3").is_attached());
}

TEST(SubnetLidsTest, S004_19_a_node_with_an_lmc_gets_all_of_its_lids) {
  Topology t = ring(3);
  t.lids_from = GivenBy::kManager;
  t.nodes.at(1).lmc = 2;
  ASSERT_TRUE(number_nodes(t));
  World world(t, World::Nodes::kAttached);
  world.start_all("s1", true);
  ASSERT_TRUE(world.run_until(4s, [&] { return world.are_all_attached(); }));
  Attachment& n2 = world.attached.at("n2")->attachment;
  EXPECT_TRUE(world.run_until(1s, [&] { return n2.own_lids().count() == 4; }));
  EXPECT_EQ(n2.own_lids().base.value % 4, 0);
}

// A program without an agent: it drops READY with LID 0.
TEST(SubnetLidsTest, S000_13_P_SUBN_24_a_node_without_an_agent_stays_out_and_delays_nobody) {
  World world(managed_ring(3), World::Nodes::kPlain);
  world.start_all("s1", true);
  world.run(3s);
  for (const auto& [name, node] : world.nodes) {
    EXPECT_TRUE(node->watch.link == nullptr || !node->link().up()) << name;
  }
  // In a subnet whose file has the LIDs it is attached, and has no name of a program.
  World plain(ring(3));
  plain.start_all("s1", true);
  ASSERT_TRUE(plain.run_until(2s, [&] { return plain.has_tables_without({}); }));
  plain.run(2s);
  EXPECT_TRUE(plain.all_reach());
  EXPECT_TRUE(plain.boxes.at("s1")->manager->nodes().programs().empty());
  const std::uint64_t silent = plain.count("s1", SubnetCounter::kSilent);
  EXPECT_EQ(silent, plain.file.nodes.size()) << "each is asked for a while, once";
  plain.run(3s);
  EXPECT_EQ(plain.count("s1", SubnetCounter::kSilent), silent);
}

// The switch hears the node all the time.
TEST(SubnetLidsTest, S004_19_P_SUBN_24_a_node_keeps_its_lid_while_it_does_not_hear_its_switch) {
  LidsWorld world(3);
  world.start_all("s1", true);
  ASSERT_TRUE(world.run_until(4s, [&] { return world.are_all_attached(); }));
  const auto at = std::ranges::find(world.file.nodes, "n2", &Topology::Node::name)->at;
  world.wires.at(at)->is_cut = true;
  world.run(1500ms);
  EXPECT_FALSE(world.node("n2").is_attached());
  world.wires.at(at)->is_cut = false;
  EXPECT_TRUE(world.run_until(2s, [&] { return world.node("n2").is_attached(); }));
  EXPECT_EQ(world.node("n2").own_lids().base, world.lid_of("n2"));
  Link& link = world.connect("n2", "n3");
  EXPECT_TRUE(world.run_until(2s, [&] { return link.up(); }));
}

// All kinds of ports get their LIDs alike.
TEST(SubnetLidsTest, S004_19_queues_partitions_and_hops_with_credits) {
  Topology t = ring(3);
  t.lids_from = GivenBy::kManager;
  t.nodes.push_back({"n2#1", Lid(), {"s2", 5}});
  for (Topology::Node& node : t.nodes) node.partitions = {PartitionKey(0x8001)};
  ASSERT_TRUE(number_nodes(t));
  for (const LinkProfile hops : {LinkProfile::kSpeed, LinkProfile::kFull}) {
    LidsWorld world(t, hops);
    world.start_all("s1", true);
    ASSERT_TRUE(world.run_until(5s, [&] { return world.are_all_attached(); }));
    for (const Topology::Node& node : world.file.nodes) {
      EXPECT_EQ(world.node(node.name).own_lids().base, node.lid) << node.name;
    }
    EXPECT_EQ(world.lid_of("n2#1"), lid_of_queue(world.lid_of("n2"), 1));
    Link& link = world.connect("n1", "n3");
    EXPECT_TRUE(world.run_until(2s, [&] { return link.up(); }));
    EXPECT_EQ(world.boxes.at("s1")->manager->nodes().programs().size(), t.nodes.size());
  }
}

TEST(SubnetLidsTest, P_SUBN_22_lids_of_more_nodes_than_one_smp_has) {
  Topology t = ring(3);
  t.lids_from = GivenBy::kManager;
  for (int i = 0; i < 28 * 3; ++i) {
    t.nodes.push_back({"m" + std::to_string(i),
                       Lid(),
                       {"s" + std::to_string(i % 3 + 1), static_cast<std::uint8_t>(5 + i / 3)}});
  }
  ASSERT_TRUE(number_nodes(t));
  World world(t);
  world.start_all("s1", true);
  const SubnetManager& manager = *world.boxes.at("s1")->manager;
  ASSERT_TRUE(world.run_until(5s, [&] { return manager.found().size() == 3; }));
  for (const auto& [name, box] : world.boxes) {
    for (const Topology::Node& node : t.nodes) {
      EXPECT_EQ(box->sw.plan().nodes.find(node.name)->second.base, node.lid) << node.name;
    }
  }
  EXPECT_TRUE(world.run_until(3s, [&] { return world.has_tables_without({}); }));
}

TEST(SubnetLidsTest, P_SUBN_22_a_switch_with_another_file_is_not_part_of_what_is_up) {
  LidsWorld world(3);
  Topology other = world.file;
  other.nodes.at(2).name = "n9";
  world.start("s1", 5);
  world.start("s2");
  world.start_by("s3", other);
  world.run(4s);
  EXPECT_EQ(world.boxes.at("s1")->manager->found().size(), 2U);
  EXPECT_FALSE(world.boxes.at("s1")->manager->found().contains("s3"));
  EXPECT_FALSE(world.node("n3").is_attached());
  EXPECT_TRUE(world.node("n1").is_attached() && world.node("n2").is_attached());
  world.kill("s3");
  world.start("s3");
  EXPECT_TRUE(world.run_until(4s, [&] { return world.are_all_attached(); }));
}

TEST(SubnetLidsTest, P_SUBN_26_a_node_that_comes_changes_no_table_and_begins_no_round) {
  for (const bool are_managed : {true, false}) {
    LidsWorld world(are_managed ? managed_ring(3) : ring(3));
    world.start_all("s1");
    ASSERT_TRUE(world.run_until(4s, [&] { return world.are_all_attached(); }));
    world.run(2s);
    const std::uint64_t rounds = world.count("s1", SubnetCounter::kRound);
    const std::uint64_t tables = world.count("s2", SubnetCounter::kTable);
    const std::uint64_t sweeps = world.count("s1", SubnetCounter::kSweep);
    const std::uint64_t traps = world.count("s2", SubnetCounter::kTrap);
    // It flaps as fast as a link can.
    for (int i = 0; i < 20; ++i) {
      world.node("n2").send_bye(world.clock.now());
      world.settle();
      world.attach("n2");
      EXPECT_TRUE(world.run_until(1s, [&] { return world.hop_of("n2").up(); }));
    }
    world.run(1s);
    EXPECT_TRUE(world.are_all_attached());
    EXPECT_EQ(world.count("s1", SubnetCounter::kRound), rounds);
    EXPECT_EQ(world.count("s2", SubnetCounter::kTable), tables);
    EXPECT_LE(world.count("s2", SubnetCounter::kTrap), traps + (are_managed ? 31 : 0));
    EXPECT_LE(world.count("s1", SubnetCounter::kSweep), sweeps + (are_managed ? 40 : 8));
  }
}

TEST(SubnetLidsTest, P_SUBN_24_a_node_reports_its_port_and_replies_to_nothing_else) {
  LidsWorld world(3);
  world.start_all("none");
  ASSERT_TRUE(world.run_until(2s, [&] { return world.hop_of("n1").up(); }));
  SubnetAgent& agent = *world.boxes.at("s1")->agent;
  struct Taker final : SubnetAgent::Manager {
    void on_smp(const Smp& smp) override {
      if (smp.attribute == SmpAttribute::kNode && smp.transaction == 77) {
        EXPECT_EQ(parse_smp_node(smp.body, node), SmpError::kNone);
        ++replies;
      }
    }
    SmpNode node;
    int replies = 0;
  } taker;
  agent.set_manager_here(&taker);
  Smp obey = request_of(SmpMethod::kSet, SmpAttribute::kManager);
  obey.route = {};
  agent.send(obey);
  const auto ask = [&](const Smp& smp) {
    Smp to_node = smp;
    to_node.route.ports[0] = 3;
    EXPECT_TRUE(agent.send(to_node));
    world.settle();
  };
  ask(request_of(SmpMethod::kGet, SmpAttribute::kNode));
  ASSERT_EQ(taker.replies, 1);
  EXPECT_EQ(taker.node.lid, Lid());
  EXPECT_EQ(taker.node.name, "host-n1");
  EXPECT_EQ(taker.node.eui64, world.hop_of("n1").local_eui64());
  ASSERT_EQ(taker.node.port_count, 1U);
  EXPECT_EQ(taker.node.ports[0], (SmpNode::PortInfo{1, SmpNode::PortState::kUnset, Lid(1),
                                                    world.hop_of("n1").peer_eui64()}));
  const PortLids lids{Lid(0x100), 0};
  std::array<std::byte, kSmpPortBodyBytes> body;
  ask(request_of(SmpMethod::kSet, SmpAttribute::kPort,
                 base::Bytes(body).first(emit_smp_port(body, lids))));
  ask(request_of(SmpMethod::kGet, SmpAttribute::kNode));
  EXPECT_EQ(taker.node.lid, lids.base);
  EXPECT_EQ(taker.node.ports[0].state, SmpNode::PortState::kUp);
  const std::uint64_t dropped = world.count_at("n1", AttachmentCounter::kRxDropSmp);
  ask(request_of(SmpMethod::kSet, SmpAttribute::kManager));
  ask(request_of(SmpMethod::kGet, SmpAttribute::kPort));
  ask(request_of(SmpMethod::kSet, SmpAttribute::kNode));
  EXPECT_EQ(world.count_at("n1", AttachmentCounter::kRxDropSmp), dropped + 3);
  EXPECT_EQ(taker.replies, 2);
  agent.set_manager_here(nullptr);
}

}  // namespace subnet_lids_test
}  // namespace splitnic::fabric
