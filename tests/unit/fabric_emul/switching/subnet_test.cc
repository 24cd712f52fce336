// Subnet management with real switches in simulated time: tables come by management cells, and
// follow what is up.
#include <gtest/gtest.h>

#include <array>

#include "fabric_emul/subnet/smp_request.h"
#include "tests/unit/fabric_emul/switching/subnet_world.h"

namespace splitnic::fabric {
namespace subnet_test {

using namespace subnet_world;

TEST(SubnetTest, S004_19_three_switches_get_their_tables_by_management_cells_only) {
  World world(ring(3));
  world.start_all("s2", true);
  EXPECT_FALSE(world.boxes.at("s1")->sw.tables().port_of(Lid(102)) != 0) << "no table yet";
  ASSERT_TRUE(world.run_until(3s, [&] { return world.has_tables_without({}); }));
  EXPECT_TRUE(world.all_reach());
  for (const auto& [name, box] : world.boxes) EXPECT_EQ(world.manager_of(name), Lid(2)) << name;
  EXPECT_TRUE(world.boxes.at("s2")->manager->is_master());
}

// The row's test: each element of the subnet is found, by datagrams that need no table.
TEST(SubnetTest, S000_13_a_sweep_finds_each_switch_and_node) {
  World world(ring(4));
  world.start_all("s1", true);
  world.run(3s);
  const SubnetView& view = world.boxes.at("s1")->manager->view();
  EXPECT_EQ(view.reports().size(), 4U);
  for (const auto& cable : world.file.cables) EXPECT_TRUE(view.is_up(cable));
  for (const auto& node : world.file.nodes) {
    EXPECT_TRUE(view.is_up(node.at)) << node.name;
    const auto ports = view.report_of(node.at.of_switch)->used_ports();
    const auto at = std::ranges::find(ports, node.at.port, &SmpNode::PortInfo::number);
    EXPECT_EQ(at->eui64, Eui64(0x5000U + node.lid.value));
  }
}

TEST(SubnetTest, S004_19_cells_take_another_way_when_a_cable_is_cut_and_return_with_it) {
  World world(ring(3));
  world.start_all("s1");
  world.run(2s);
  ASSERT_TRUE(world.reaches("n1", "n2"));
  world.set_cut(0, true);  // s1 - s2
  EXPECT_FALSE(world.reaches("n1", "n2"));
  // The keep-alive of the link notices it in 0.9 s.
  ASSERT_TRUE(world.run_until(1200ms, [&] { return world.reaches("n1", "n2"); }));
  EXPECT_TRUE(world.has_tables_without({0}));
  EXPECT_TRUE(world.all_reach());
  world.set_cut(0, false);
  EXPECT_TRUE(world.run_until(3s, [&] { return world.has_tables_without({}); }));
  EXPECT_TRUE(world.all_reach());
  EXPECT_EQ(world.same_port_drops(), 0U);
}

// Roots of a tree have no routes to each other: the manager reaches them all the same.
TEST(SubnetTest, S004_19_a_root_of_a_tree_manages_the_other_roots) {
  for (const RoutingKind routing :
       {RoutingKind::kUpDown, RoutingKind::kFatTree, RoutingKind::kLayered}) {
    Topology tree;
    tree.routing = routing;
    for (std::uint16_t i = 1; i <= 4; ++i) {
      tree.switches.push_back({"s" + std::to_string(i), Lid(i)});
      const std::string leaf = i <= 2 ? "s1" : "s2";
      tree.nodes.push_back({"n" + std::to_string(i),
                            Lid(static_cast<std::uint16_t>(100 + i)),
                            {leaf, static_cast<std::uint8_t>(3 + i % 2)}});
    }
    tree.cables = {{{"s1", 1}, {"s3", 1}},
                   {{"s1", 2}, {"s4", 1}},
                   {{"s2", 1}, {"s3", 2}},
                   {{"s2", 2}, {"s4", 2}}};
    World world(tree);
    world.start_all("s3");
    world.run(2s);
    EXPECT_EQ(world.boxes.at("s3")->manager->view().reports().size(), 4U);
    ASSERT_TRUE(world.boxes.at("s4")->agent->manager());
    EXPECT_EQ(world.boxes.at("s4")->agent->manager()->lid, Lid(3));
    EXPECT_TRUE(world.all_reach());
    world.set_cut(0, true);  // s1 - s3
    EXPECT_TRUE(world.run_until(2s, [&] { return world.all_reach(); }));
  }
}

TEST(SubnetTest, S004_19_nodes_that_come_and_go_change_nothing) {
  World world(ring(3));
  world.start_all("s1");
  world.run(2s);
  const Switch& at = world.boxes.at("s2")->sw;
  const auto changes = at.counters()[SwitchCounter::kLinkChange];
  world.nodes.at("n2")->port.send_bye(world.clock.now());
  world.settle();
  const auto ports = at.ports();
  const auto of_node = std::ranges::find(ports, 3, &Switch::PortView::number);
  ASSERT_NE(of_node, ports.end());
  EXPECT_FALSE(of_node->link->up());
  EXPECT_EQ(at.counters()[SwitchCounter::kLinkChange], changes);
}

TEST(SubnetTest, S004_19_a_switch_dies_and_comes_back) {
  World world(ring(4));
  world.start_all("s1");
  world.run(2s);
  world.kill("s2");
  ASSERT_TRUE(world.run_until(1500ms, [&] { return world.reaches("n1", "n3"); }));
  EXPECT_TRUE(world.has_tables_without({}));
  EXPECT_FALSE(world.reaches("n1", "n2"));
  world.start("s2");
  EXPECT_TRUE(world.run_until(3s, [&] { return world.has_tables_without({}); }));
  EXPECT_TRUE(world.all_reach());
}

// S000-34: the EUI-64 of a component is unique.
TEST(SubnetTest, S004_19_P_SUBN_31_a_switch_with_the_eui64_of_another_one_is_refused) {
  World world(ring(4));
  world.eui64s["s3"] = Eui64(200);  // of s2
  world.start_all("s1", true);
  world.run(3s);
  const SubnetView& view = world.boxes.at("s1")->manager->view();
  EXPECT_NE(view.report_of("s2"), nullptr);
  EXPECT_EQ(view.report_of("s3"), nullptr);
  EXPECT_TRUE(world.reaches("n1", "n2") && world.reaches("n1", "n4"));
  EXPECT_FALSE(world.reaches("n1", "n3"));
  world.kill("s3");
  world.eui64s.clear();
  world.start("s3");
  // The peers of its ports notice after 0.9 s that the old process is gone.
  EXPECT_TRUE(
      world.run_until(4s, [&] { return world.has_tables_without({}) && world.all_reach(); }));
  EXPECT_NE(view.report_of("s3"), nullptr);
}

TEST(SubnetTest, P_SUBN_31_a_manager_whose_own_switch_is_the_copy_manages_the_others) {
  World world(ring(3));
  world.eui64s["s2"] = Eui64(100);  // of s1
  world.start_all("s2", true);
  world.run(3s);
  const SubnetManager& manager = *world.boxes.at("s2")->manager;
  EXPECT_TRUE(manager.is_master());
  EXPECT_EQ(manager.view().report_of("s2"), nullptr);
  EXPECT_TRUE(world.reaches("n1", "n3") && world.reaches("n3", "n1"));
  EXPECT_FALSE(world.reaches("n1", "n2"));
}

TEST(SubnetTest, S004_19_the_standby_takes_over_when_the_manager_dies) {
  World world(ring(3));
  world.start("s1", 7);
  world.start("s2", 5);
  world.start("s3", 5);
  world.run(3s);
  EXPECT_TRUE(world.boxes.at("s1")->manager->is_master());
  for (const char* name : {"s2", "s3"}) {
    EXPECT_FALSE(world.boxes.at(name)->manager->is_master());
    EXPECT_EQ(world.manager_of(name), Lid(1));
  }
  world.kill("s1");
  ASSERT_TRUE(world.run_until(4s, [&] { return world.boxes.at("s2")->manager->is_master(); }));
  world.run(1s);
  EXPECT_EQ(world.manager_of("s3"), Lid(2)) << "of equal priorities, that of the lowest LID";
  EXPECT_FALSE(world.boxes.at("s3")->manager->is_master());
  EXPECT_TRUE(world.has_tables_without({}));
  world.start("s1", 7);
  ASSERT_TRUE(world.run_until(3s, [&] { return world.all_reach(); }));
  world.run(1s);
  EXPECT_TRUE(world.boxes.at("s1")->manager->is_master());
  EXPECT_FALSE(world.boxes.at("s2")->manager->is_master());
  EXPECT_EQ(world.manager_of("s3"), Lid(1));
}

TEST(SubnetTest, S004_19_a_manager_that_takes_over_reads_the_tables_that_another_one_has_set) {
  World world(ring(4));
  world.start_all("s1");
  world.start("s3", 1);
  world.run(2s);
  world.set_cut(1, true);  // s2 - s3
  world.run(2s);
  ASSERT_TRUE(world.has_tables_without({1}));
  world.kill("s1");
  ASSERT_TRUE(world.run_until(5s, [&] { return world.boxes.at("s3")->manager->is_master(); }));
  world.run(1s);
  EXPECT_EQ(world.manager_of("s4"), Lid(3));
  world.start("s1");
  EXPECT_TRUE(world.run_until(3s, [&] { return world.has_tables_without({1}); }));
  EXPECT_TRUE(world.all_reach());
  EXPECT_EQ(world.same_port_drops(), 0U);
}

// The standby s3 takes over where s4 has another table than that of the file, and does not get it.
struct UnreadTable : World {
  UnreadTable() : World(ring(4)) {
    start_all("s1");
    start("s3", 1);
    run(2s);
    set_cut(3, true);  // s4 - s1
    run(2s);
    EXPECT_TRUE(has_tables_without({3}));
    to_s4.drops_table_reads = true;
    kill("s1");
  }
  bool asks(std::uint64_t times) {
    return run_until(5s, [&] { return to_s4.table_reads >= times; });
  }

  Wire& to_s4 = *wires.at({"s3", 1});
};

// Cells that go by entries which stay are not interrupted.
TEST(SubnetTest, S004_19_P_SUBN_16_a_table_that_was_not_read_to_the_end_is_read_once_more) {
  UnreadTable world;
  ASSERT_TRUE(world.asks(SmpRequest::kAttempts));
  world.to_s4.drops_table_reads = false;
  const auto& at_n3 = world.nodes.at("n3")->cells;
  const auto& at_n4 = world.nodes.at("n4")->cells;
  const std::size_t before = at_n3.size() + at_n4.size();
  std::size_t sent = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(world.write("n3", "n4") && world.write("n4", "n3"));
    sent += 2;
    world.iterate();
    if (i % 20 == 0) world.clock.advance(10ms);
  }
  world.settle();
  EXPECT_GT(world.to_s4.table_reads, SmpRequest::kAttempts);
  EXPECT_EQ(at_n3.size() + at_n4.size(), before + sent);
  EXPECT_TRUE(world.has_tables_without({3}));
}

TEST(SubnetTest, S004_19_P_SUBN_16_a_table_that_changes_while_it_is_read_is_read_once_more) {
  UnreadTable world;
  ASSERT_TRUE(world.asks(1));
  Box& s4 = *world.boxes.at("s4");
  ASSERT_TRUE(s4.agent->manager());
  const ForwardingTables empty;
  const TableBlock ports = block_of(empty.of(kNoInput), 0);
  std::array<std::byte, kSmpTableBytes + kSmpBlockLids> body;
  SmpTable part;
  part.stage = SmpTable::Stage::kClear;
  part.parts = 1;
  part.check = check_of(empty);
  part.ports = ports;
  Smp set;  // without hops: it is served here
  set.method = SmpMethod::kSet;
  set.attribute = SmpAttribute::kTable;
  set.manager = *s4.agent->manager();
  set.body = base::Bytes(body).first(emit_smp_table(body, part));
  s4.agent->send(set);
  ASSERT_EQ(check_of(s4.sw.tables()), part.check);
  const std::uint64_t before = world.to_s4.table_reads;
  world.to_s4.drops_table_reads = false;
  EXPECT_TRUE(world.run_until(1s, [&] { return world.has_tables_without({3}); }));
  EXPECT_GE(world.to_s4.table_reads, before + 2) << "the one that was lost, and one more";
}

TEST(SubnetTest, S004_19_tables_arrive_through_a_loss_of_30_percent_of_management_cells) {
  World world(ring(3));
  for (auto& [place, wire] : world.wires) wire->smp_loss_ppm = 300'000;
  world.start_all("s1", true);
  EXPECT_TRUE(world.run_until(10s, [&] { return world.has_tables_without({}); }));
  world.set_cut(2, true);  // s3 - s1
  EXPECT_TRUE(world.run_until(10s, [&] { return world.has_tables_without({2}); }));
  EXPECT_TRUE(world.run_until(5s, [&] { return world.all_reach(); }));
  EXPECT_GT(world.count("s1", SubnetCounter::kRepeat), 0U);
}

TEST(SubnetTest, S004_19_tables_are_the_same_in_whatever_order_switches_start) {
  std::vector<std::string> names{"s1", "s2", "s3"};
  do {
    World world(ring(3));
    world.set_cut(1, true);
    for (const std::string& name : names) {
      world.start(name, name == "s3" ? 4 : 2, name == "s2");
      world.run(300ms);
    }
    EXPECT_TRUE(world.run_until(4s, [&] { return world.has_tables_without({1}); }))
        << names[0] << names[1] << names[2];
    EXPECT_EQ(world.manager_of("s1"), Lid(3));
  } while (std::ranges::next_permutation(names).found);
}

TEST(SubnetTest, P_SUBN_10_a_trap_makes_the_manager_sweep_at_once) {
  World world(ring(4));
  world.start_all("s1");
  world.run(2s);
  const Topology::Cable to_s3 = world.file.cables.at(1);  // s2 - s3
  ASSERT_TRUE(world.boxes.at("s1")->manager->view().is_up(to_s3));
  world.run_until(1s, [&, before = world.count("s1", SubnetCounter::kSweep)] {
    return world.count("s1", SubnetCounter::kSweep) != before;
  });
  world.boxes.at("s3")->sw.send_bye(world.clock.now());
  world.settle();
  world.kill("s3");
  world.run(60ms);
  EXPECT_GT(world.count("s2", SubnetCounter::kTrap), 0U);
  EXPECT_FALSE(world.boxes.at("s1")->manager->view().is_up(to_s3));
  EXPECT_TRUE(world.has_tables_without({}));
}

// The switch finds the silence when a timer ends, and the next one may be far away.
TEST(SubnetTest, P_SUBN_10_a_trap_waits_for_no_timer_of_the_switch) {
  World world(ring(3));
  world.start_all("s3");
  world.run(2s);
  Box& s1 = *world.boxes.at("s1");
  const auto changes = [&] { return s1.sw.counters()[SwitchCounter::kLinkChange]; };
  const std::uint64_t before = changes();
  world.set_cut(0, true);  // s1 - s2, without BYE
  for (int i = 0; i < 2000 && changes() == before; ++i) {
    world.clock.advance(1ms);
    world.iterate();
  }
  ASSERT_EQ(changes(), before + 1);
  EXPECT_LE(s1.agent->deadline(), world.clock.now());
  const std::uint64_t traps = world.count("s1", SubnetCounter::kTrap);
  s1.agent->step(world.clock.now());
  EXPECT_EQ(world.count("s1", SubnetCounter::kTrap), traps + 1);
}

TEST(SubnetTest, S004_19_without_changes_a_switch_is_asked_for_little) {
  World world(ring(3));
  world.start_all("s1");
  world.run(2s);
  const std::uint64_t before = world.count("s2", SubnetCounter::kServed);
  const std::uint64_t tables = world.count("s2", SubnetCounter::kTable);
  world.run(5s);
  const std::uint64_t served = world.count("s2", SubnetCounter::kServed) - before;
  EXPECT_GE(served, 27U) << "three requests for each of ten sweeps";
  EXPECT_LE(served, 33U);
  EXPECT_EQ(world.count("s2", SubnetCounter::kTable), tables);
}

}  // namespace subnet_test
}  // namespace splitnic::fabric
