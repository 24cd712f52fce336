// The simulator with layered routing: what the layers of lanes prevent, and that the search for a
// deadlock follows a cell to the lane on which it leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "fabric_emul/simulation/simulator.h"
#include "fabric_emul/simulation/topology_maker.h"

namespace splitnic::fabric::simulation {
namespace layered_simulation_test {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

Topology layered(std::string_view form) {
  Topology topology = make_topology(form).value();
  topology.routing = RoutingKind::kLayered;
  return topology;
}

struct Load {
  std::string workload = "uniform";
  SimTime duration = milliseconds(1);
  bool layers_lanes = true;  // then a lane has the buffers of two
  std::uint64_t bits_per_second = 10'000'000'000;
  std::vector<Change> changes = {};
  std::uint8_t lanes = 1;
};

Report simulate(const Topology& topology, const Routing& routing, const Load& run) {
  Settings settings;
  settings.layers_lanes = run.layers_lanes;
  settings.lanes = run.lanes;
  settings.bits_per_second = run.bits_per_second;
  auto simulator =
      Simulator::make(topology, settings, routing, parse_workload(run.workload).value(), 1).value();
  for (const Change& change : run.changes) EXPECT_TRUE(simulator->add_change(change));
  const Report report = simulator->run(run.duration);
  EXPECT_EQ(report.sent, report.delivered + report.lost.sum() + report.in_flight);
  return report;
}

Report simulate(const Topology& topology, const Load& run) {
  return simulate(topology, *make_routing(topology.routing), run);
}

double hops_per_cell(const Report& report) {
  return static_cast<double>(report.delivered_hops) / static_cast<double>(report.delivered);
}

void expect_all_arrives(const Report& report) {
  EXPECT_TRUE(report.deadlock.empty());
  EXPECT_EQ(report.lost.sum() + report.in_flight, 0U);
  EXPECT_GT(report.withheld, 0U);  // it was under full load
}

TEST(LayeredSimulationTest, S000_41_a_ring_of_four_does_not_stall_in_60_seconds) {
  Topology ring = layered("ring:4");
  const Load run{.duration = seconds(60), .bits_per_second = 1'000'000};
  const Report report = simulate(ring, run);
  expect_all_arrives(report);
  EXPECT_GT(report.delivered, 80'000U);
  ring.routing = RoutingKind::kShortest;
  EXPECT_EQ(simulate(ring, {.duration = seconds(60), .layers_lanes = false}).deadlock.size(), 4U);
}

TEST(LayeredSimulationTest, S000_41_the_routes_of_rings_and_tori_need_layers) {
  for (const char* form : {"ring:8", "torus:6x6"}) {
    const Topology topology = layered(form);
    expect_all_arrives(simulate(topology, {}));
    EXPECT_FALSE(
        simulate(topology, {.duration = milliseconds(100), .layers_lanes = false}).deadlock.empty())
        << form;
  }
}

TEST(LayeredSimulationTest, S000_41_layered_routes_carry_more_than_updown) {
  const Topology torus = layered("torus:6x6");
  const Report ours = simulate(torus, {});
  const Report updown =
      simulate(torus, *make_routing(RoutingKind::kUpDown), {.layers_lanes = false, .lanes = 2});
  expect_all_arrives(ours);
  EXPECT_GT(ours.bits_per_second, 1.3 * updown.bits_per_second);
  EXPECT_LT(hops_per_cell(ours), hops_per_cell(updown));
}

// All cells the same way around, beyond their destination where it is a loop.
class OneWay final : public Routing {
 public:
  explicit OneWay(bool is_loop) : is_loop_(is_loop) {}
  base::Result<std::vector<ForwardingTables>> tables(const SubnetGraph& graph) const override {
    std::vector<ForwardingTables> tables(graph.switches.size());
    for (std::uint32_t at = 0; at < tables.size(); ++at) {
      for (const auto& node : graph.nodes) {
        const bool is_end = node.at == at && !is_loop_;
        tables[at].of(kNoInput).set(node.lid, is_end ? node.port : std::uint8_t{1});
      }
    }
    return tables;
  }

 private:
  const bool is_loop_;
};

// Buffers are full all around, and the first cells of those at sw5 leave on the other layer.
TEST(LayeredSimulationTest, S000_41_full_buffers_around_a_ring_are_no_deadlock) {
  expect_all_arrives(simulate(layered("ring:5"), OneWay(false),
                              {.workload = "all-to-all", .duration = milliseconds(5)}));
  EXPECT_EQ(
      simulate(layered("ring:5"), OneWay(false), {.workload = "all-to-all", .layers_lanes = false})
          .deadlock.size(),
      5U);
}

// There is no layer behind the last one: cells that dip more often wait for each other there.
TEST(LayeredSimulationTest, S000_41_a_deadlock_in_the_last_layer_is_found) {
  const Report report = simulate(layered("ring:5"), OneWay(true), {.workload = "all-to-all"});
  ASSERT_EQ(report.deadlock.size(), 5U);
  for (const std::string& place : report.deadlock) {
    EXPECT_TRUE(place.ends_with(" lane 1")) << place;
  }
}

TEST(LayeredSimulationTest, S000_41_what_a_failure_leaves_is_routed_by_updown_if_it_must_be) {
  // Around it: 1, 4, 2, 5, 3, 6. Without the cable to the switch of LID 6 some routes have two
  // dips.
  Topology ring = layered("ring:6");
  const std::uint16_t lids[] = {1, 4, 2, 5, 3, 6};
  for (std::size_t i = 0; i < 6; ++i) ring.switches[i].lid = Lid(lids[i]);
  const std::vector<Change> failure{{.at = microseconds(100), .of_switch = "sw6", .port = 1}};
  const Report report =
      simulate(ring, {.workload = "all-to-all", .duration = milliseconds(1), .changes = failure});
  EXPECT_TRUE(report.deadlock.empty());
  EXPECT_EQ(report.in_flight, 0U);
  EXPECT_EQ(report.lost.sum(), report.lost.on_cable);
  EXPECT_GT(report.delivered, 1000U);
}

}  // namespace layered_simulation_test
}  // namespace splitnic::fabric::simulation
