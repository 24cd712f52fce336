// Files of subnets that layer lanes.
#include <gtest/gtest.h>

#include "switch_module/topology_file.h"
#include "switch_module/topology_text.h"
#include "tests/unit/switch_module/topology_error.h"

namespace splitnic::fabric_switch {
namespace topology_layers_test {

constexpr const char* kRing = R"(routing = "layered"
cables = ["a:1 - b:2", "b:1 - c:2", "c:1 - d:2", "d:1 - a:2"]
[switches]
a.lid = 1
b.lid = 2
c.lid = 3
d.lid = 4
[nodes.n]
lid = 5
at = "a:3"
[nodes.m]
lid = 6
at = "c:3"
)";

TEST(TopologyLayersTest, S000_41_a_subnet_may_layer_lanes) {
  const fabric::Topology topology = parse_topology(kRing).value().topology;
  EXPECT_EQ(topology.routing, fabric::RoutingKind::kLayered);
  EXPECT_TRUE(plan_of(topology, "b")->layers_lanes);
  const std::string text = topology_text(topology);
  EXPECT_EQ(topology_text(parse_topology(text)->topology), text);
  fabric::Topology other = topology;
  other.routing = fabric::RoutingKind::kUpDown;
  EXPECT_FALSE(plan_of(other, "b")->layers_lanes);
}

TEST(TopologyLayersTest, S000_41_lanes_are_layered_or_pinned) {
  EXPECT_EQ(error_of(std::string("pin_vl = true\n") + kRing),
            "line 2, column 11: routing: layered sets the lanes of cells, and pin_vl keeps them: "
            "leave out one");
  EXPECT_EQ(error_of(std::string("pin_vl = false\n") + kRing), "");
}

TEST(TopologyLayersTest, S000_41_routes_with_two_dips_are_refused_with_advice) {
  constexpr const char* kLine = R"(cables = ["a:1 - b:2", "b:1 - c:2", "c:1 - d:2", "d:1 - e:2"]
routing = "layered"
[switches]
a.lid = 1
b.lid = 4
c.lid = 2
d.lid = 5
e.lid = 3
[nodes.n]
lid = 11
at = "a:3"
)";
  EXPECT_EQ(error_of(kLine),
            "line 2, column 11: routing: each shortest route from e to a goes down and up again "
            "more than once: number the switches so that LIDs ascend along the rows or around the "
            "ring, or use updown");
}

}  // namespace topology_layers_test
}  // namespace splitnic::fabric_switch
