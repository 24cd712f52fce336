// A manager and switches whose topology files differ, as while an operator starts them one after
// the other with a new one: what they agree on is managed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/support/log_lines.h"
#include "tests/unit/fabric_emul/switching/subnet_world.h"

namespace splitnic::fabric {
namespace subnet_files_test {

using namespace subnet_world;

// Who adds a node starts one switch after the other, and cables may fail meanwhile. The LID of the
// node is in a block in which no other one is.
TEST(SubnetFilesTest, S004_19_P_SUBN_14_a_node_that_a_switch_does_not_have_yet_stops_no_table) {
  for (const TablesPer per : {TablesPer::kSwitch, TablesPer::kInput}) {
    Topology file = ring(4);
    file.tables_per = per;
    World world(file);
    Topology newer = world.file;
    newer.nodes.push_back({"n9", Lid(600), {"s3", 5}});
    world.start_all("none");
    world.manage_by("s1", newer);
    world.run(2s);
    EXPECT_TRUE(world.has_tables_without({}));
    world.set_cut(1, true);  // s2 - s3
    EXPECT_TRUE(world.run_until(3s, [&] { return world.has_tables_without({1}); }));
  }
}

// The switch has a table for the port of a node that the file of the manager has no more.
TEST(SubnetFilesTest,
     S004_19_P_SUBN_19_a_switch_with_more_inputs_than_the_manager_knows_gets_tables) {
  Topology file = ring(4);
  file.tables_per = TablesPer::kInput;
  World world(file);
  Topology older = without_node(world.file, "n3");
  world.start_all("none");
  world.manage_by("s1", older);
  EXPECT_TRUE(world.run_until(3s, [&] { return world.has_tables_of(older); }));
  world.set_cut(1, true);  // s2 - s3
  older.cables.erase(older.cables.begin() + 1);
  EXPECT_TRUE(world.run_until(3s, [&] { return world.has_tables_of(older); }));
}

// s3 has the one kind of tables and the manager the other: s3 is left out, and the others get
// tables.
void expect_left_out(TablesPer per, const std::string& line) {
  Topology file = ring(4);
  file.tables_per = per;
  World world(file);
  Topology other = world.file;
  other.tables_per = per == TablesPer::kInput ? TablesPer::kSwitch : TablesPer::kInput;
  const support::LogLines log;
  for (const char* name : {"s2", "s4"}) world.start(name);
  world.start("s1", 5);
  world.start_by("s3", other);
  Topology rest = world.file;
  const auto is_of_s3 = [](const PortPlace& place) { return place.of_switch == "s3"; };
  std::erase_if(rest.switches, [](const Topology::Switch& one) { return one.name == "s3"; });
  std::erase_if(rest.nodes, [&](const Topology::Node& node) { return is_of_s3(node.at); });
  std::erase_if(rest.cables,
                [&](const Topology::Cable& one) { return is_of_s3(one.a) || is_of_s3(one.b); });
  const auto expected = routes_of(rest);
  world.run(2s);
  EXPECT_TRUE(world.run_until(3s, [&] {
    return std::ranges::all_of(expected, [&](const auto& one) {
      return check_of(world.boxes.at(one.first)->sw.tables()) == check_of(one.second);
    });
  }));
  EXPECT_FALSE(world.boxes.at("s1")->manager->found().contains("s3"));
  EXPECT_EQ(log.count(line), 1U) << log.text();
  // It is not tried once more each time a node of it comes or goes.
  world.run(1s);
  const std::uint64_t rounds = world.count("s1", SubnetCounter::kRound);
  world.nodes.at("n3")->port.send_bye(world.clock.now());
  world.run(2s);
  EXPECT_EQ(world.count("s1", SubnetCounter::kRound), rounds);
  world.kill("s3");
  world.start("s3");
  EXPECT_TRUE(world.run_until(5s, [&] { return world.has_tables_without({}); }));
}

TEST(SubnetFilesTest, S004_19_P_SUBN_14_a_switch_that_rejects_its_tables_stops_no_other) {
  expect_left_out(TablesPer::kInput, "switch s3 rejects tables");
}

// It takes what it gets, and nothing of that comes into force.
TEST(SubnetFilesTest, S004_19_P_SUBN_14_a_switch_that_waits_for_more_tables_stops_no_other) {
  expect_left_out(TablesPer::kSwitch,
                  "switch s3 waits for more tables than one: its topology file has tables = "
                  "\"per_input\", and that of the subnet manager has \"per_switch\"");
}

// By this file s3 has a table for a port that it does not report, so what a manager with the file
// of the world sets there is never all of them.
Topology with_an_input_more(const World& world) {
  Topology other = world.file;
  other.nodes.push_back({"n9", Lid(600), {"s3", 5}});
  return other;
}
Topology ring_by_input() {
  Topology file = ring(3);
  file.tables_per = TablesPer::kInput;
  return file;
}

TEST(SubnetFilesTest, S004_19_P_SUBN_13_rounds_that_fail_each_time_begin_no_sweep_after_the_other) {
  World world(ring_by_input());
  const Topology other = with_an_input_more(world);
  world.start("s1", 5);
  world.start("s2");
  world.start_by("s3", other);
  world.run(3s);
  const std::uint64_t before = world.count("s1", SubnetCounter::kSweep);
  const std::uint64_t rounds = world.count("s1", SubnetCounter::kRound);
  world.run(3s);
  const std::uint64_t sweeps = world.count("s1", SubnetCounter::kSweep) - before;
  EXPECT_GE(sweeps, 5U);
  EXPECT_LE(sweeps, 8U) << "one each 500 ms";
  EXPECT_GE(world.count("s1", SubnetCounter::kRound) - rounds, 5U) << "each fails";
  world.kill("s3");
  world.start("s3");
  EXPECT_TRUE(world.run_until(5s, [&] { return world.has_tables_without({}); }));
  // TRAP begins a sweep at once as before.
  world.run(1s);
  world.set_cut(0, true);  // s1 - s2
  EXPECT_TRUE(world.run_until(1500ms, [&] { return world.has_tables_without({0}); }));
}

// Rounds that failed before are of no concern to who stands by: it follows its own changes at once.
TEST(SubnetFilesTest, S004_19_P_SUBN_13_a_manager_that_stands_by_forgets_the_rounds_that_failed) {
  World world(ring_by_input());
  const Topology other = with_an_input_more(world);
  world.start("s2", 5);
  world.start_by("s3", other);
  world.run(4s);
  const SubnetManager& s2 = *world.boxes.at("s2")->manager;
  ASSERT_TRUE(s2.is_master());
  ASSERT_GE(world.count("s2", SubnetCounter::kRound), 7U) << "each fails";
  world.start("s1", 7);
  ASSERT_TRUE(world.run_until(5s, [&] { return !s2.is_master(); }));
  const std::uint64_t before = world.count("s2", SubnetCounter::kSweep);
  ASSERT_TRUE(
      world.run_until(1s, [&] { return world.count("s2", SubnetCounter::kSweep) != before; }));
  const std::uint64_t sweeps = world.count("s2", SubnetCounter::kSweep);
  world.boxes.at("s3")->sw.send_bye(world.clock.now());
  world.settle();
  world.kill("s3");
  world.run(60ms);
  EXPECT_FALSE(s2.is_master());
  EXPECT_GT(world.count("s2", SubnetCounter::kSweep), sweeps);
}

}  // namespace subnet_files_test
}  // namespace splitnic::fabric
