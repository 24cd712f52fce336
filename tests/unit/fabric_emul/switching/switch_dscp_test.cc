// The DSCP of what a switch sends, and of a node behind one.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>

#include "tests/support/dscp_recorder.h"
#include "tests/unit/fabric_emul/switching/attached_node.h"

namespace splitnic::fabric::switch_dscp_test {
namespace {

using namespace switch_world;

PortConfig marked(PortConfig config) {
  config.dscp_of_lane.at(0) = 10;
  config.dscp_of_lane.at(3) = 46;
  config.dscp_of_lane.at(kMgmtLane) = 48;
  return config;
}

// Each port of a switch marks what it sends by the lane that the cell has there.
TEST(SwitchDscpTest, S002_43_a_port_marks_its_lanes) {
  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  Switch sw(plan_of(star(2), "sw").value(), random);
  InProcessUnderlay& to_first = hub.add_endpoint();
  InProcessUnderlay& second_port = hub.add_endpoint();
  DscpRecorder to_second(second_port);
  InProcessUnderlay& second_at = hub.add_endpoint();
  link_world::End first(hub.add_endpoint(), link_world::config_of(0x201, 1001));
  link_world::End second(second_at, link_world::config_of(0x202, 1002));
  sw.add_port(1, to_first, link_world::config_of(0x101, 7), nullptr, clock.now());
  sw.add_port(2, to_second, marked(link_world::config_of(0x102, 7)), nullptr, clock.now());
  first.port.connect(to_first.address(), clock.now());
  second.port.connect(second_port.address(), clock.now());
  const auto run = [&] {
    link_world::run_for(clock, 1s, [&] {
      bool made_progress = sw.step(clock.now());
      made_progress |= first.step(clock.now());
      return second.step(clock.now()) || made_progress;
    });
  };
  run();
  ASSERT_TRUE(first.link().up() && second.link().up());
  for (unsigned i = 0; i < 8; ++i) {
    const std::uint8_t sl = i % 2 == 0 ? 0 : 3;
    ASSERT_TRUE(link_world::write(
        first.link(),
        cell_with(World::lid(1), World::lid(2), 100, i, [sl](CellHead& h) { h.header.sl = sl; }),
        sl));
  }
  to_second.sent.clear();
  run();
  EXPECT_EQ(second.cells.size(), 8U);
  std::map<unsigned, unsigned> cells;  // by lane
  for (const auto& one : to_second.sent) {
    for (const auto& [type, lane] : one.flits) {
      if (type != FlitType::kData || lane == kMgmtLane) {
        EXPECT_EQ(one.dscp, 48);
        continue;
      }
      EXPECT_EQ(one.dscp, lane == 3 ? 46 : 10);
      ++cells[lane];
    }
  }
  EXPECT_EQ(cells, (std::map<unsigned, unsigned>{{0, 4}, {3, 4}}));
}

// The port above an attachment has lanes too, and none of them is that of the hop.
TEST(SwitchDscpTest, S002_43_the_hop_of_a_node_has_its_own_marks) {
  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  DscpRecorder carrier(hub.add_endpoint());
  Attachment attachment(carrier, hub.add_endpoint().address(),
                        marked(link_world::config_of(0x201, 1001)), clock, random, 0, {}, "node");
  EXPECT_EQ(carrier.dscp(), 48);
  attachment.set_dscp(46, 10);
  EXPECT_EQ(carrier.dscp(), 48);
}

}  // namespace
}  // namespace splitnic::fabric::switch_dscp_test
