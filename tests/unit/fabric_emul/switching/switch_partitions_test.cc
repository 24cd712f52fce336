// Partitions at a switch: at the port of a node it takes the node's own keys and lets out what
// matches one of them; and through a switch, nodes that have no partition in common do not reach
// each other, with or without the help of the switch.
#include <gtest/gtest.h>

#include "fabric_emul/switching/path_cell.h"
#include "tests/support/counter_sum.h"
#include "tests/unit/fabric_emul/switching/attached_node.h"

namespace splitnic::fabric {
namespace switch_partitions_test {

using namespace switch_world;

constexpr PartitionKey kOffice(0x8001), kLab(0x8002), kLabGuest(0x0002), kNone(0);

// Node 1 is in the office, node 3 a guest of the lab, node 2 a full member of both; node 4 is in no
// table.
Topology office_and_lab() {
  Topology topology = star(4);
  topology.nodes[0].partitions = {kOffice};
  topology.nodes[1].partitions = {kOffice, kLab};
  topology.nodes[2].partitions = {kLabGuest};
  topology.nodes[3].partitions = {kDefaultPartition};
  return topology;
}

Cell cell_in(PartitionKey partition, std::size_t from, std::size_t to) {
  return cell_with(World::lid(from), World::lid(to), 64, 0,
                   [&](CellHead& head) { head.header.partition = partition; });
}

// Every key of a few, from each node to each other one.
TEST(SwitchPartitionsTest, S004_20_a_with_b_and_b_with_c_and_never_a_with_c) {
  World world(office_and_lab());
  const auto passes = [](PartitionKey key, std::size_t from, std::size_t to) {
    const std::size_t low = std::min(from, to), high = std::max(from, to);
    if (low == 1 && high == 2) return key == kOffice;
    if (low == 2 && high == 3) return key == (from == 3 ? kLabGuest : kLab);
    return false;
  };
  std::size_t passed = 0;
  for (std::size_t from = 1; from <= 4; ++from) {
    for (std::size_t to = 1; to <= 4; ++to) {
      if (from == to) continue;
      for (const PartitionKey key :
           {kOffice, as_limited_member(kOffice), kLab, kLabGuest, kDefaultPartition, kNone}) {
        const Cell sent = cell_in(key, from, to);
        const std::uint64_t dropped = world.count(SwitchCounter::kDropPartition);
        world.node(to).cells.clear();
        ASSERT_TRUE(world.write(from, sent));
        world.settle();
        const bool is_through = passes(key, from, to);
        passed += is_through ? 1 : 0;
        ASSERT_EQ(world.node(to).cells, is_through ? link_world::Cells{sent} : link_world::Cells{})
            << from << " to " << to << " in " << text_of(key);
        ASSERT_EQ(world.count(SwitchCounter::kDropPartition), dropped + (is_through ? 0 : 1));
      }
    }
  }
  EXPECT_EQ(passed, 4U);
  EXPECT_TRUE(world.is_balanced());
}

TEST(SwitchPartitionsTest, S004_20_without_partitions_a_switch_passes_every_value) {
  World world(2);
  for (const PartitionKey key : {kOffice, kLabGuest, kDefaultPartition, kNone}) {
    ASSERT_TRUE(world.write(1, cell_in(key, 1, 2)));
    world.settle();
  }
  EXPECT_EQ(world.node(2).cells.size(), 4U);
  EXPECT_EQ(world.drops(), 0U);
}

// Between switches nothing is checked: their cells were checked where they came in.
TEST(SwitchPartitionsTest, S004_20_a_cable_carries_all_partitions) {
  Topology t = office_and_lab();
  t.switches.push_back({"far", Lid(2)});
  t.nodes.push_back({"f", Lid(30), {"far", 2}, {kLab}});
  t.cables.push_back({{"sw", 5}, {"far", 1}});
  const SwitchPlan plan = plan_of(t, "sw").value();
  EXPECT_TRUE(plan.ports[5].partitions.empty());
  EXPECT_EQ(plan.ports[2].partitions, (std::vector<PartitionKey>{kOffice, kLab}));
}

// The switch itself serves members only, and its replies are in their partition.
TEST(SwitchPartitionsTest, S004_20_a_switch_replies_in_the_partition_of_the_request) {
  World world(office_and_lab());
  const auto ask = [&](std::size_t from, PartitionKey key) {
    Mgmt m;
    m.kind = MgmtKind::kResolve;
    m.private_data = base::as_bytes(std::string_view("n2"));
    world.node(from).cells.clear();
    EXPECT_TRUE(send_mgmt(world.node(from).link(), World::lid(from), Lid(1), m, key));
    world.node(from).port.flush(world.clock.now());
    world.settle();
  };
  ask(3, kLabGuest);
  ASSERT_EQ(world.node(3).cells.size(), 1U);
  EXPECT_EQ(MacHeader::parse(world.node(3).cells[0].data()).partition, kLab);
  ask(3, kLab);  // it is a guest
  EXPECT_TRUE(world.node(3).cells.empty());
  EXPECT_EQ(world.count(SwitchCounter::kDropPartition), 1U);
}

// Hosts 1 and 3 and the unit 2, each with its table, behind one switch.
class NodesOfPartitions : public ::testing::Test {
 protected:
  void start(const Topology& topology) {
    sw = std::make_unique<Switch>(plan_of(topology, "sw").value(), random);
    const std::array<PartitionTable, 3> tables{
        PartitionTable({kOffice}), PartitionTable({kOffice, kLab}), PartitionTable({kLabGuest})};
    for (std::uint8_t i = 0; i < 3; ++i) {
      InProcessUnderlay& at_switch = hub.add_endpoint();
      sw->add_port(static_cast<std::uint8_t>(i + 1), at_switch,
                   link_world::config_of(0x100 + i, 70), nullptr, clock.now());
      nodes[i] = std::make_unique<Node>(hub.add_endpoint(), at_switch.address(), 0xE0 + i, 300 + i,
                                        i == 1, clock, 4, 0, tables[i]);
    }
  }
  Link& connect(std::size_t from, const std::string& to) {
    Node& node = *nodes[from];
    return node.end->port.connect(node.attachment.peer(to), clock.now());
  }
  void run(base::Duration time) {
    link_world::run_for(clock, time, [this] {
      bool made_progress = sw->step(clock.now());
      for (const auto& node : nodes) made_progress |= node->end->step(clock.now());
      return made_progress;
    });
  }
  std::uint64_t count(std::size_t which, std::string_view name) {
    return support::counter_of(nodes[which]->attachment, name);
  }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  std::unique_ptr<Switch> sw;
  std::array<std::unique_ptr<Node>, 3> nodes;
};

TEST_F(NodesOfPartitions, S004_20_a_unit_in_two_partitions_has_hosts_of_both) {
  Topology topology = office_and_lab();
  start(topology);
  const Link& office = connect(0, "n2");
  const Link& lab = connect(2, "n2");
  const Link& across = connect(0, "n3");
  run(5s);
  EXPECT_TRUE(office.up());
  EXPECT_TRUE(lab.up());
  EXPECT_FALSE(across.up());
  EXPECT_GT(sw->counters()[SwitchCounter::kDropPartition], 0U);
  EXPECT_EQ(count(2, "path.rx.drop.partition"), 0U);  // nothing of it arrived
}

// Nodes keep strangers out themselves where the switch knows no partitions.
TEST_F(NodesOfPartitions, S004_20_control_cells_of_strangers_are_dropped_by_the_nodes) {
  start(star(3));
  const Link& office = connect(0, "n2");
  const Link& across = connect(0, "n3");
  run(2s);
  EXPECT_TRUE(office.up());
  EXPECT_FALSE(across.up());
  EXPECT_EQ(sw->counters()[SwitchCounter::kDropPartition], 0U);
  EXPECT_GT(count(2, "path.rx.drop.partition"), 0U);
}

}  // namespace switch_partitions_test
}  // namespace splitnic::fabric
