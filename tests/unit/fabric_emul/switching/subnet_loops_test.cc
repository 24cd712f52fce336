// While tables change, no cell comes by the same cable twice, nor back to where it came from.
#include <gtest/gtest.h>

#include "tests/unit/fabric_emul/switching/subnet_world.h"

namespace splitnic::fabric {
namespace subnet_loops_test {

using namespace subnet_world;

// In each iteration, so between any two changes of tables, each node sends to some other one.
void run_under_traffic(World& world, base::SeededRandom& random, base::Duration time) {
  for (const base::Time end = world.clock.now() + time; world.clock.now() < end;
       world.clock.advance(10ms)) {
    for (int i = 0; i < 3; ++i) {
      for (const auto& [from, node] : world.nodes) {
        const auto to =
            std::next(world.nodes.begin(), static_cast<long>(random.below(world.nodes.size())));
        if (to->first != from) world.write(from, to->first);
      }
      world.iterate();
    }
    world.settle();
  }
}

// Before s3 - s4 is up again the way from s2 to n4 is by s1, afterwards by s3. As long as s3 has
// not got its new table it must have no entry that leads back to s2.
TEST(SubnetLoopsTest, P_SUBN_8_a_switch_whose_table_is_late_sends_no_cell_back) {
  World world(ring(5));
  base::SeededRandom random(1);
  world.start_all("s1");
  world.set_cut(2, true);  // s3 - s4
  world.run(3s);
  ASSERT_TRUE(world.has_tables_without({2}));
  Wire& to_s3 = *world.wires.at({"s2", 1});
  to_s3.drops_last_stage = true;
  world.set_cut(2, false);
  const std::uint64_t before = world.count("s2", SubnetCounter::kTable);
  run_under_traffic(world, random, 1s);
  EXPECT_GE(world.count("s2", SubnetCounter::kTable) - before, 2U) << "both stages";
  EXPECT_EQ(world.same_port_drops(), 0U);
  to_s3.drops_last_stage = false;
  EXPECT_TRUE(world.run_until(3s, [&] { return world.has_tables_without({}); }));
  EXPECT_LE(world.most_visits(), 1U);
}

// A switch that is started again sends by the table of its file, which may be back to where a cell
// came from: there it is dropped.
TEST(SubnetLoopsTest, P_SUBN_8_no_cell_circulates_while_switches_and_managers_fail_and_return) {
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    Topology topology = ring(5);
    if (seed > 2) topology.routing = seed > 4 ? RoutingKind::kLayered : RoutingKind::kUpDown;
    if (seed > 2 && seed < 6) topology.tables_per = TablesPer::kInput;
    World world(topology);
    base::SeededRandom random(seed);
    for (auto& [place, wire] : world.wires) wire->smp_loss_ppm = 100'000;
    const auto start = [&](const std::string& name) {
      world.start(name, name <= "s2" ? std::optional(5) : std::nullopt);
    };
    for (const auto& one : world.file.switches) start(one.name);
    world.run(2s);
    std::string killed;
    for (int event = 0; event < 10; ++event) {
      world.set_cut(static_cast<std::size_t>(random.below(5)), random.below(2) == 0);
      if (!killed.empty()) {
        start(std::exchange(killed, {}));
      } else if (random.below(3) != 0) {
        killed = "s" + std::to_string(1 + random.below(5));
        world.kill(killed);
      }
      run_under_traffic(world, random, std::chrono::milliseconds(200 + random.below(1200)));
      ASSERT_LE(world.most_visits(), 1U) << "seed " << seed << ", event " << event;
    }
    for (std::size_t cable = 0; cable < 5; ++cable) world.set_cut(cable, false);
    if (!killed.empty()) start(killed);
    EXPECT_TRUE(world.run_until(10s, [&] { return world.has_tables_without({}); }));
    EXPECT_TRUE(world.run_until(3s, [&] { return world.all_reach(); }));
  }
}

// It comes with the table of its file while the others have another one.
TEST(SubnetLoopsTest, P_SUBN_9_a_switch_that_restarts_gets_cells_when_its_table_is_right) {
  World world(ring(5));
  base::SeededRandom random(1);
  world.start_all("s1");
  world.run(2s);
  world.set_cut(1, true);  // s2 - s3
  world.run(2s);
  ASSERT_TRUE(world.has_tables_without({1}));
  // Without its manager the subnet stays as it is, and the cables of the new process are held.
  world.kill("s1");
  world.kill("s4");
  world.start("s4");
  run_under_traffic(world, random, 3s);
  EXPECT_FALSE(world.reaches("n5", "n4"));
  // Nobody manages s4: it sends by its file, and s5 takes nothing in from a cable that it holds.
  const auto dropped = [&] {
    return world.boxes.at("s5")->sw.counters()[SwitchCounter::kDropDown];
  };
  const std::uint64_t before = dropped();
  EXPECT_FALSE(world.reaches("n4", "n5"));
  EXPECT_EQ(dropped(), before + 1);
  world.start("s1", 5);
  run_under_traffic(world, random, 3s);
  EXPECT_TRUE(world.all_reach());
  EXPECT_LE(world.most_visits(), 1U);
}

// The manager has a file in which a node has replaced the cable between s3 and s4, and these two
// still have the cable. Cells for the node would leave s3 by it, and come to s3 once more by s4,
// s5, s1 and s2.
TEST(SubnetLoopsTest, P_SUBN_7_P_SUBN_14_no_entry_leads_to_a_node_where_a_switch_has_a_cable) {
  World world(ring(5));
  Topology newer = world.file;
  newer.cables.erase(newer.cables.begin() + 2);
  const Lid of_node(109);
  newer.nodes.push_back({"n9", of_node, {"s3", 1}});
  world.start_all("none");
  world.manage_by("s1", newer);
  world.run(3s);
  EXPECT_TRUE(world.has_tables_without({2}));
  const auto dropped = [&] { return world.boxes.at("s1")->sw.counters()[SwitchCounter::kDropLid]; };
  const std::uint64_t before = dropped();
  ASSERT_TRUE(link_world::write(world.nodes.at("n1")->link(),
                                switch_world::cell(world.lid_of("n1"), of_node, 64, 1)));
  for (int i = 0; i < 100; ++i) world.iterate();  // it may circulate
  EXPECT_LE(world.most_visits(), 1U);
  EXPECT_EQ(dropped(), before + 1);
}

}  // namespace subnet_loops_test
}  // namespace splitnic::fabric
