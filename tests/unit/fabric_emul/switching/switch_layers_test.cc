// A switch that layers lanes, with cables to two switches of lower LIDs and two of higher ones: a
// cell leaves in the next layer exactly where it came down and goes up, and its class stays.
#include <gtest/gtest.h>

#include <array>

#include "fabric_emul/subnet/routes.h"
#include "fabric_emul/switching/path_cell.h"
#include "tests/unit/fabric_emul/switching/router_world.h"

namespace splitnic::fabric {
namespace switch_layers_test {

using namespace switch_world;

enum class Peer : std::uint8_t { kLow = 1, kOtherLow, kHigh, kOtherHigh, kNode, kOtherNode };
constexpr std::array kCables{Peer::kLow, Peer::kOtherLow, Peer::kHigh, Peer::kOtherHigh};
constexpr std::array kNodes{Peer::kNode, Peer::kOtherNode};

bool is_low(Peer peer) { return peer == Peer::kLow || peer == Peer::kOtherLow; }

// Nodes of a lower and a higher LID than the switch: those count for nothing.
Topology crossing() {
  Topology t;
  t.routing = RoutingKind::kLayered;
  t.switches = {{"sw", Lid(10)}};
  const std::array<std::uint16_t, 4> lids{2, 3, 20, 21};
  for (std::uint8_t i = 1; i <= 4; ++i) {
    const std::string name = "s" + std::to_string(i);
    t.switches.push_back({name, Lid(lids.at(i - 1U))});
    t.cables.push_back({{name, 1}, {"sw", i}});
    t.nodes.push_back(
        {"n" + std::to_string(i), Lid(static_cast<std::uint16_t>(100 + i)), {name, 2}});
  }
  t.nodes.push_back({"n5", Lid(5), {"sw", 5}});
  t.nodes.push_back({"n6", Lid(106), {"sw", 6}});
  return t;
}

class SwitchLayersTest : public ::testing::Test {
 protected:
  explicit SwitchLayersTest(const Topology& topology = crossing())
      : sw(plan_of(topology, "sw").value(), random) {
    for (std::uint8_t port = 1; port <= 6; ++port) {
      InProcessUnderlay& at_switch = hub.add_endpoint();
      sw.add_port(port, at_switch, link_world::config_of(0x100U + port, 7), nullptr, clock.now());
      PortConfig config = link_world::config_of(0x200U + port, 1000U + port);
      config.number = port <= 4 ? 1 : 0;
      ends.push_back(std::make_unique<link_world::End>(hub.add_endpoint(), config));
      ends.back()->port.connect(at_switch.address(), clock.now());
    }
    link_world::run_for(clock, 1s, [this] {
      bool made_progress = sw.step(clock.now());
      for (const auto& end : ends) made_progress |= end->step(clock.now());
      return made_progress;
    });
  }
  static std::size_t index_of(Peer peer) { return static_cast<std::size_t>(peer) - 1; }
  static Lid lid_of(Peer peer) {
    return peer == Peer::kNode ? Lid(5) : Lid(static_cast<std::uint16_t>(101 + index_of(peer)));
  }

  // Returns the lane by which a cell leaves that came by lane `vl`; none: it did not arrive.
  std::optional<unsigned> lane_of(Peer from, Peer to, std::uint8_t vl, std::uint8_t sl,
                                  bool is_mgmt = false) {
    const Cell sent = cell_with(lid_of(from), lid_of(to), 64, 0, [&](CellHead& head) {
      head.header.sl = sl;
      if (!is_mgmt) return;
      head.header.op = Op::kMgmt;
      head.header.service = Service::kMgmt;
      head.header.flags = 0;
    });
    link_world::End& source = *ends.at(index_of(from));
    EXPECT_TRUE(link_world::write(source.link(), sent, vl));
    source.port.flush(clock.now());
    while (sw.step(clock.now())) {
    }
    std::optional<unsigned> lane;
    ends.at(index_of(to))
        ->port.receive(clock.now(), 16, [&](Link&, std::span<const ReceivedCell> got) {
          for (const ReceivedCell& one : got) {
            if (std::ranges::equal(one.bytes, sent)) lane = one.vl;
          }
        });
    return lane;
  }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  Switch sw;
  std::vector<std::unique_ptr<link_world::End>> ends;
};

TEST_F(SwitchLayersTest, S000_41_a_cell_changes_its_layer_where_it_dips_and_keeps_its_class) {
  for (const Peer from : kCables) {
    for (const Peer to : kCables) {
      if (from == to) continue;
      for (std::uint8_t sl = 0; sl < 8; ++sl) {
        for (std::uint8_t vl = 0; vl < kDataLanes; ++vl) {
          const unsigned layer = is_low(from) && is_low(to) ? 1 : vl % 2U;
          EXPECT_EQ(lane_of(from, to, vl, sl), sl % 4U / 2U * 2U + layer)
              << int(from) << " to " << int(to) << ", SL " << int(sl) << ", lane " << int(vl);
        }
      }
    }
  }
}

TEST_F(SwitchLayersTest, S000_41_what_a_node_sends_begins_in_the_first_layer) {
  for (const Peer node : kNodes) {
    for (std::uint8_t vl = 0; vl < kDataLanes; ++vl) {
      for (std::uint8_t sl = 0; sl < 4; ++sl) {
        for (const Peer to : kCables) {
          EXPECT_EQ(lane_of(node, to, vl, sl), sl / 2U * 2U) << int(vl);
        }
        EXPECT_EQ(lane_of(node, node == Peer::kNode ? Peer::kOtherNode : Peer::kNode, vl, sl),
                  sl / 2U * 2U);
      }
    }
  }
}

TEST_F(SwitchLayersTest, S000_41_what_leaves_for_a_node_keeps_its_layer) {
  for (const Peer from : kCables) {
    for (const Peer to : kNodes) {
      for (std::uint8_t vl = 0; vl < kDataLanes; ++vl) {
        EXPECT_EQ(lane_of(from, to, vl, 3), 2U + vl % 2U);
      }
    }
  }
}

TEST_F(SwitchLayersTest, S000_41_management_keeps_its_lane_and_an_unknown_lane_has_no_layer) {
  EXPECT_EQ(lane_of(Peer::kLow, Peer::kOtherLow, 0, 0, true), kMgmtLane);
  EXPECT_EQ(lane_of(Peer::kLow, Peer::kHigh, 7, 3), 2U);
  EXPECT_EQ(lane_of(Peer::kLow, Peer::kHigh, kMgmtLane, 0), 0U);
}

Topology crossing_with_lanes() {
  Topology t = crossing();
  t.switches[0].lanes = {3, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return t;
}
class SwitchLayersTableTest : public SwitchLayersTest {
 protected:
  SwitchLayersTableTest() : SwitchLayersTest(crossing_with_lanes()) {}
};

TEST_F(SwitchLayersTableTest, S000_41_the_table_of_the_switch_has_the_class) {
  const std::array<unsigned, 4> first_lanes{2, 0, 2, 0};
  for (std::uint8_t sl = 0; sl < 4; ++sl) {
    EXPECT_EQ(lane_of(Peer::kNode, Peer::kHigh, 0, sl), first_lanes.at(sl));
    EXPECT_EQ(lane_of(Peer::kLow, Peer::kOtherLow, 0, sl), first_lanes.at(sl) + 1);
  }
}

// The LIDs of another subnet are no order here.
TEST(RouterLayersTest, S000_41_what_comes_from_another_subnet_begins_in_the_first_layer) {
  router_world::PlainWorld world({}, RoutingKind::kLayered);
  unsigned got = 0;
  for (std::uint8_t vl = 0; vl < kDataLanes; ++vl) {
    const Cell sent = router_world::global_with([](CellHead& head, Gnh& gnh) {
      head.header.slid = Lid(3);
      gnh.source = router_world::address(0xC, Lid(9)).bytes;
    });
    ASSERT_TRUE(link_world::write(world.r3.link(), sent, vl));
    world.r3.port.flush(world.clock.now());
    while (world.step()) {
    }
    world.u.port.receive(world.clock.now(), 16, [&](Link&, std::span<const ReceivedCell> cells) {
      for (const ReceivedCell& one : cells) {
        EXPECT_EQ(one.vl, 0U) << int(vl);  // SL 5: class 0
        ++got;
      }
    });
  }
  EXPECT_EQ(got, kDataLanes);
}

// If a mesh has lost cables, routes may have two dips: up*/down* leads to all that is left.
TEST(LayeredRoutesTest, S000_41_what_has_two_dips_is_routed_by_updown) {
  Topology line;
  const std::uint16_t lids[] = {1, 4, 2, 5, 3, 6};
  for (std::size_t i = 0; i < 6; ++i) {
    const std::string name = "s" + std::to_string(i);
    line.switches.push_back({name, Lid(lids[i])});
    if (i > 0) line.cables.push_back({{"s" + std::to_string(i - 1), 1}, {name, 2}});
  }
  line.nodes = {{"a", Lid(11), {"s0", 3}}, {"b", Lid(12), {"s5", 3}}};
  line.routing = RoutingKind::kLayered;
  EXPECT_FALSE(plan_of(line, "s0"));
  EXPECT_EQ(routes_of(line).at("s0").port_of(Lid(12)), 1);
  EXPECT_EQ(routes_of(line).at("s5").port_of(Lid(11)), 2);
}

}  // namespace switch_layers_test
}  // namespace splitnic::fabric
