// The simulator: times that follow from the model, conservation of cells, back pressure, deadlock.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "fabric_emul/simulation/simulator.h"
#include "fabric_emul/simulation/topology_maker.h"

namespace splitnic::fabric::simulation {
namespace simulation_test {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

Topology made(std::string_view form) { return make_topology(form).value(); }

Topology star(std::uint16_t nodes) {
  Topology topology;
  topology.switches.push_back({"sw", Lid(1)});
  for (std::uint16_t i = 0; i < nodes; ++i) {
    topology.nodes.push_back({"n" + std::to_string(i),
                              Lid(static_cast<std::uint16_t>(2 + i)),
                              {"sw", static_cast<std::uint8_t>(i + 1)}});
  }
  return topology;
}

Workload workload_of(std::string_view text, std::uint32_t load = 100) {
  Workload workload = parse_workload(text).value();
  workload.load_percent = load;
  return workload;
}

Report simulate(const Topology& topology, std::string_view workload, SimTime duration,
                const Settings& settings = {}, const std::vector<Change>& changes = {},
                std::uint32_t load = 100, std::uint64_t seed = 1) {
  const auto routing = make_routing(topology.routing);
  auto simulator =
      Simulator::make(topology, settings, *routing, workload_of(workload, load), seed).value();
  for (const Change& change : changes) EXPECT_TRUE(simulator->add_change(change));
  const Report report = simulator->run(duration);
  EXPECT_EQ(report.sent, report.offered - report.withheld);
  EXPECT_EQ(report.sent, report.delivered + report.lost.sum() + report.in_flight);
  EXPECT_EQ(report.latency.count(), report.delivered);
  return report;
}

TEST(SimulationTest, S000_37_cut_through_saves_the_time_of_a_cell_per_switch) {
  Settings settings;
  const SimTime cell = settings.cell_time(), header = settings.header_time();
  EXPECT_EQ(cell.count(), 233'600);
  EXPECT_EQ(header.count(), 25'600);
  const SimTime delays = 2 * settings.cable_delay + settings.switch_delay;
  EXPECT_EQ(simulate(star(2), "permutation", microseconds(100), settings, {}, 1).latency.longest(),
            delays + header + cell);
  settings.cuts_through = false;
  EXPECT_EQ(simulate(star(2), "permutation", microseconds(100), settings, {}, 1).latency.longest(),
            delays + 2 * cell);
}

TEST(SimulationTest, a_link_is_filled) {
  const Report report = simulate(star(2), "permutation", milliseconds(1));
  EXPECT_EQ(report.withheld, 0U);
  EXPECT_GT(report.bits_per_second, 2 * 9.98e9);
  for (const LineLoad& line : report.lines) EXPECT_GT(line.utilisation, 0.99) << line.from;
}

TEST(SimulationTest, a_lane_without_room_for_the_round_trip_is_slower) {
  Settings settings;
  settings.cable_delay = microseconds(5);
  settings.buffer_cells = 4;
  const Report report = simulate(star(2), "permutation", milliseconds(1), settings);
  // Four cells per round trip of two delays and a cell.
  EXPECT_LT(report.bits_per_second, 2 * 1e9);
  EXPECT_GT(report.withheld, 0U);
}

TEST(SimulationTest, contention_causes_back_pressure_and_no_loss) {
  const Report report = simulate(star(5), "incast", milliseconds(1));
  EXPECT_EQ(report.lost.sum(), 0U);
  EXPECT_EQ(report.in_flight, 0U);
  EXPECT_EQ(report.senders, 4U);
  EXPECT_GT(report.withheld, 0U);
  EXPECT_NEAR(report.bits_per_second, 1e10, 1e8);
  // Each sender has its share.
  for (const LineLoad& line : report.lines) {
    if (line.from == "n0" || line.to.find(':') == std::string::npos) continue;
    EXPECT_NEAR(line.utilisation, 0.25, 0.01) << line.from;
  }
}

const LineLoad& line_from(const Report& report, const std::string& place) {
  return *std::ranges::find(report.lines, place, &LineLoad::from);
}

double in_picoseconds(SimTime time) { return static_cast<double>(time.count()); }

TEST(SimulationTest, cells_that_meet_no_others_wait_nowhere) {
  const Report report = simulate(star(2), "permutation", microseconds(100), {}, {}, 1);
  for (const LineLoad& line : report.lines) {
    EXPECT_GT(line.cells, 0U) << line.from;
    EXPECT_EQ(line.wait_mean_picoseconds, 0) << line.from;
    EXPECT_EQ(line.wait_longest.count(), 0) << line.from;
  }
  ASSERT_EQ(report.latency_by_hops.size(), 1U);
  EXPECT_EQ(report.latency_by_hops[0].hops, 2U);
  EXPECT_EQ(report.latency_by_hops[0].cells, report.delivered);
  EXPECT_DOUBLE_EQ(report.latency_by_hops[0].mean_picoseconds,
                   in_picoseconds(report.latency.longest()));
}

// n1 and n2 send to n0 and share the link from sw2 to sw1: it takes from each of two full inputs a
// cell every two times of a cell.
TEST(SimulationTest, waits_at_a_link_are_those_of_the_full_buffers_in_front_of_it) {
  const Settings settings;
  const SimTime cell = settings.cell_time();
  const Report report = simulate(made("mesh:1x3"), "incast", milliseconds(1), settings);
  const LineLoad& shared = line_from(report, "sw2:2");
  // All places of a buffer, less the time from when a cell begins to leave until the next one has
  // come to its place: it leaves, a credit returns, and a cell crosses the cable.
  const SimTime at_switch = settings.header_time() + settings.switch_delay;
  const SimTime refill = cell + 2 * settings.cable_delay + at_switch;
  const SimTime wait = 2 * settings.buffer_cells * cell - refill;
  EXPECT_NEAR(shared.wait_mean_picoseconds, in_picoseconds(wait), 0.03 * in_picoseconds(wait));
  EXPECT_GE(shared.wait_longest, wait);
  EXPECT_LE(shared.wait_longest, 2 * settings.buffer_cells * cell);
  // It sends no faster than the next link.
  EXPECT_EQ(line_from(report, "sw1:5").wait_longest.count(), 0);

  // The latency of cells of n2, by four links and three switches, is the sum of waits and delays.
  ASSERT_EQ(report.latency_by_hops.size(), 2U);
  EXPECT_EQ(report.latency_by_hops[0].hops, 3U);
  EXPECT_EQ(report.latency_by_hops[1].hops, 4U);
  double sum = in_picoseconds(4 * settings.cable_delay + 3 * at_switch + cell);
  for (const char* place : {"n2", "sw3:2", "sw2:2", "sw1:5"}) {
    sum += line_from(report, place).wait_mean_picoseconds;
  }
  EXPECT_NEAR(report.latency_by_hops[1].mean_picoseconds, sum, 0.03 * sum);
  EXPECT_LT(report.latency_by_hops[0].mean_picoseconds, report.latency_by_hops[1].mean_picoseconds);
}

TEST(SimulationTest, lanes_have_separate_credits) {
  // With one lane, cells to the hot spot hold up those behind them to others; with two, half of
  // those have a buffer that no cell of the node to the hot spot is in.
  Settings two;
  two.lanes = 2;
  const Report one_lane = simulate(star(8), "hotspot:40", milliseconds(1));
  const Report two_lanes = simulate(star(8), "hotspot:40", milliseconds(1), two);
  EXPECT_GT(two_lanes.delivered_in_time, one_lane.delivered_in_time);
  EXPECT_EQ(two_lanes.lost.sum(), 0U);
}

TEST(SimulationTest, the_same_seed_gives_the_same_report) {
  const Topology mesh = made("mesh:3x3");
  const Report a = simulate(mesh, "uniform", microseconds(200));
  const Report b = simulate(mesh, "uniform", microseconds(200));
  const Report other = simulate(mesh, "uniform", microseconds(200), {}, {}, 100, 2);
  EXPECT_EQ(a.delivered, b.delivered);
  EXPECT_EQ(a.cell_hops, b.cell_hops);
  EXPECT_EQ(a.ended, b.ended);
  for (std::size_t i = 0; i < a.lines.size(); ++i) EXPECT_EQ(a.lines[i].cells, b.lines[i].cells);
  EXPECT_NE(a.cell_hops, other.cell_hops);
}

// At a slow rate: the same cells and hops as on a fast link, and fewer of them.
Settings slow() {
  Settings settings;
  settings.bits_per_second = 1'000'000;
  return settings;
}

TEST(SimulationTest, a_ring_by_updown_does_not_stall_in_60_seconds) {
  const Report report = simulate(made("ring:4"), "uniform", seconds(60), slow());
  EXPECT_TRUE(report.deadlock.empty());
  EXPECT_EQ(report.lost.sum() + report.in_flight, 0U);
  EXPECT_GT(report.withheld, 0U);  // it is under full load
  EXPECT_GT(report.delivered, 50'000U);
  // No cell waited for longer than some hundred others need.
  EXPECT_LT(report.latency.longest(), 500 * slow().cell_time());
}

TEST(SimulationTest, a_ring_by_shortest_paths_has_a_deadlock_with_named_ports) {
  Topology ring = made("ring:4");
  ring.routing = RoutingKind::kShortest;
  const Report report = simulate(ring, "uniform", milliseconds(100));
  ASSERT_EQ(report.deadlock.size(), 4U);
  for (const char* port : {"sw1:2", "sw2:2", "sw3:2", "sw4:2"}) {
    EXPECT_NE(std::ranges::find(report.deadlock, port), report.deadlock.end()) << port;
  }
  EXPECT_LT(report.ended, milliseconds(100));
  EXPECT_GT(report.in_flight, 0U);
}

// All cells the same way around: a table by hand that nobody should use.
class OneWayRing final : public Routing {
 public:
  base::Result<std::vector<ForwardingTables>> tables(const SubnetGraph& graph) const override {
    std::vector<ForwardingTables> tables(graph.switches.size());
    for (std::uint32_t at = 0; at < tables.size(); ++at) {
      for (const auto& node : graph.nodes) {
        tables[at].of(kNoInput).set(node.lid,
                                    node.at == at && !is_loop ? node.port : std::uint8_t{1});
      }
    }
    return tables;
  }
  bool is_loop = false;
};

TEST(SimulationTest, an_unsafe_table_has_a_deadlock) {
  OneWayRing unsafe;
  const Topology ring = made("ring:5");
  auto simulator = Simulator::make(ring, {}, unsafe, workload_of("all-to-all"), 1).value();
  const Report report = simulator->run(milliseconds(10));
  EXPECT_EQ(report.deadlock.size(), 5U);
}

TEST(SimulationTest, a_cell_that_circulates_is_dropped_and_counted) {
  OneWayRing loop;
  loop.is_loop = true;
  const Topology ring = made("ring:3");
  auto simulator = Simulator::make(ring, {}, loop, workload_of("all-to-all", 1), 1).value();
  const Report report = simulator->run(microseconds(100));
  EXPECT_EQ(report.delivered, 0U);
  EXPECT_GT(report.lost.hop_limit, 0U);
  EXPECT_EQ(report.lost.hop_limit, report.sent);
}

TEST(SimulationTest, a_failed_spine_loses_what_it_had_and_no_more) {
  const Topology tree = made("fattree:4");
  const std::vector<Change> failure{{.at = microseconds(100), .of_switch = "spine0"}};
  const Report report = simulate(tree, "uniform", microseconds(600), {}, failure);
  EXPECT_TRUE(report.deadlock.empty());
  EXPECT_EQ(report.in_flight, 0U);
  EXPECT_EQ(report.lost.no_route + report.lost.hop_limit, 0U);
  EXPECT_GT(report.lost.in_switch, 0U);
  // Four ports: full inputs, and what is on eight lines.
  EXPECT_LE(report.lost.in_switch, 4 * Settings().buffer_cells);
  EXPECT_LE(report.lost.on_cable, 8 * 3U);
  const auto down = std::ranges::count(report.lines, false, &LineLoad::is_up);
  EXPECT_EQ(down, 8);
}

TEST(SimulationTest, a_cable_that_is_repaired_carries_cells_again) {
  Topology pair = made("mesh:1x2");
  const std::vector<Change> changes{
      {.at = microseconds(100), .of_switch = "sw1", .port = 1},
      {.at = microseconds(500), .of_switch = "sw2", .port = 2, .is_repair = true}};
  Settings settings;
  settings.reroute_delay = microseconds(1000);  // later than the repair: the cells wait
  const Report waiting = simulate(pair, "permutation", microseconds(1000), settings, changes);
  EXPECT_EQ(waiting.lost.sum(), waiting.lost.on_cable);
  EXPECT_EQ(waiting.in_flight, 0U);
  EXPECT_NEAR(waiting.bits_per_second, 2 * 6e9, 5e8);
  settings.reroute_delay = microseconds(10);  // before: there is no route, and cells are dropped
  const Report dropping = simulate(pair, "permutation", microseconds(1000), settings, changes);
  EXPECT_GT(dropping.lost.no_route, 1000U);
  EXPECT_EQ(dropping.in_flight, 0U);
  EXPECT_TRUE(std::ranges::all_of(dropping.lines, &LineLoad::is_up));
}

// n1 and n2 send to n0; what comes from n2 fills an input of sw2. The cable to it is out for
// shorter than that input needs to send two cells.
TEST(SimulationTest, a_repaired_cable_has_no_credits_for_cells_that_still_wait) {
  const std::vector<Change> changes{
      {.at = microseconds(100), .of_switch = "sw2", .port = 1},
      {.at = microseconds(101), .of_switch = "sw2", .port = 1, .is_repair = true}};
  const Report report = simulate(made("mesh:1x3"), "incast", microseconds(400), {}, changes);
  EXPECT_LE(report.lost.on_cable, 3U);
  EXPECT_EQ(report.lost.sum(), report.lost.on_cable);
  EXPECT_EQ(report.in_flight, 0U);
  EXPECT_NEAR(report.bits_per_second, 1e10, 2e8);
}

TEST(SimulationTest, a_change_of_what_is_not_there_is_an_error) {
  const Topology ring = made("ring:4");
  const auto routing = make_routing(ring.routing);
  auto simulator = Simulator::make(ring, {}, *routing, workload_of("uniform"), 1).value();
  EXPECT_EQ(simulator->add_change({.of_switch = "sw9"}).error().text(), "there is no switch sw9");
  EXPECT_EQ(simulator->add_change({.of_switch = "sw1", .port = 4}).error().text(),
            "nothing is at port 4 of sw1");
  EXPECT_EQ(simulator->add_change({.of_switch = "n1"}).error().text(), "there is no switch n1");
}

TEST(SimulationTest, what_cannot_be_simulated_is_an_error) {
  const auto routing = make_routing(RoutingKind::kFatTree);
  const auto error_of = [&](const Topology& topology, std::string_view workload) {
    const auto simulator = Simulator::make(topology, {}, *routing, workload_of(workload), 1);
    return simulator ? "" : simulator.error().text();
  };
  EXPECT_EQ(error_of(star(1), "uniform"), "there are fewer than two nodes");
  EXPECT_EQ(error_of(star(4), "incast:4"), "incast of 4 senders: there are 4 nodes");
  EXPECT_NE(error_of(made("ring:4"), "uniform").find("not a fat tree"), std::string::npos);
  EXPECT_EQ(error_of(star(4), "incast:3"), "");
  Settings huge;
  huge.lanes = kLanesMax;
  huge.buffer_cells = kBufferCellsMax;
  const Topology tree = made("fattree:16");
  EXPECT_FALSE(Simulator::make(tree, huge, *routing, workload_of("uniform"), 1));
}

TEST(SimulationTest, workloads_have_names) {
  EXPECT_EQ(workload_of("hotspot").parameter, 10U);
  EXPECT_EQ(workload_of("hotspot:100").parameter, 100U);
  for (const char* bad : {"", "ping", "uniform:1", "hotspot:0", "hotspot:101", "hotspot:x",
                          "incast:", "incast:1x", "incast:-1"}) {
    EXPECT_FALSE(parse_workload(bad)) << bad;
  }
}

TEST(SimulationTest, destinations_are_those_of_the_workload) {
  base::SeededRandom random(3);
  auto all = Destinations::make(workload_of("all-to-all"), 4, random).value();
  EXPECT_EQ(all.next(3), 0);
  EXPECT_EQ(all.next(3), 1);
  EXPECT_EQ(all.next(3), 2);
  EXPECT_EQ(all.next(3), 0);
  auto permutation = Destinations::make(workload_of("permutation"), 50, random).value();
  std::vector<bool> taken(50);
  for (std::uint16_t node = 0; node < 50; ++node) {
    const std::uint16_t to = permutation.next(node);
    EXPECT_NE(to, node);
    EXPECT_EQ(to, permutation.next(node));
    EXPECT_FALSE(taken.at(to));
    taken.at(to) = true;
  }
  auto incast = Destinations::make(workload_of("incast:2"), 4, random).value();
  EXPECT_FALSE(incast.sends(0));
  EXPECT_TRUE(incast.sends(2));
  EXPECT_FALSE(incast.sends(3));
  EXPECT_EQ(incast.next(2), 0);
  auto uniform = Destinations::make(workload_of("uniform"), 3, random).value();
  for (int i = 0; i < 100; ++i) EXPECT_NE(uniform.next(1), 1);
  auto hotspot = Destinations::make(workload_of("hotspot:100"), 3, random).value();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(hotspot.next(2), 0);
}

TEST(SimulationTest, percentiles_are_within_a_step) {
  Histogram histogram;
  for (std::int64_t i = 1; i <= 1000; ++i) histogram.add(SimTime(i * 1000));
  EXPECT_EQ(histogram.longest().count(), 1'000'000);
  EXPECT_NEAR(static_cast<double>(histogram.percentile(50).count()), 500e3, 500e3 / 64);
  EXPECT_NEAR(static_cast<double>(histogram.percentile(99).count()), 990e3, 990e3 / 64);
  EXPECT_EQ(histogram.percentile(100).count(), 1'000'000);
  EXPECT_NEAR(histogram.mean_picoseconds(), 500.5e3, 1);
  EXPECT_EQ(Histogram().percentile(99).count(), 0);
  histogram.add(SimTime::max());
  EXPECT_EQ(histogram.percentile(100), SimTime::max());
}

// As of a run in which few cells arrive: at least that share of the times is not longer.
TEST(SimulationTest, percentiles_of_few_times) {
  Histogram histogram;
  for (const int time : {10, 20, 30}) histogram.add(SimTime(time));
  EXPECT_EQ(histogram.percentile(1), SimTime(10));
  EXPECT_EQ(histogram.percentile(50), SimTime(20));
  EXPECT_EQ(histogram.percentile(99), SimTime(30));
}

TEST(SimulationTest, topologies_of_every_form) {
  const Topology tree = made("fattree:16");
  EXPECT_EQ(tree.switches.size(), 320U);
  EXPECT_EQ(tree.nodes.size(), 1024U);
  EXPECT_EQ(tree.cables.size(), 2048U);
  EXPECT_EQ(made("fattree:32:16").nodes.size(), 4096U);
  EXPECT_EQ(made("mesh:2x3").cables.size(), 7U);
  EXPECT_EQ(made("ring:3").cables.size(), 3U);
  EXPECT_EQ(made("torus:3x4").cables.size(), 24U);
  for (const char* bad : {"fattree:5", "fattree:2", "fattree:34", "fattree:8:9", "fattree:8:1",
                          "fattree", "ring:2", "ring:1025", "mesh:3", "mesh:1x1", "mesh:33x32",
                          "torus:2x3", "torus:3x2", "torus:3", "star:4", ""}) {
    EXPECT_FALSE(make_topology(bad)) << bad;
  }
}

}  // namespace simulation_test
}  // namespace splitnic::fabric::simulation
