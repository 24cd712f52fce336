// Tests that a switch refuses, with one line, whoever comes to a port and is not what the topology
// has there.
#include <gtest/gtest.h>

#include "fabric_emul/switching/switch.h"
#include "tests/unit/fabric_emul/switching/switch_world.h"

namespace splitnic::fabric {
namespace switch_place_test {

using namespace switch_world;

// Switches "a", "b" and "c" in a row, by cables a:2 - b:1 and b:2 - c:1; nodes at a:1 and c:2.
Topology row() {
  Topology t;
  t.switches = {{"a", Lid(1)}, {"b", Lid(2)}, {"c", Lid(3)}};
  t.nodes = {{"h", Lid(11), {"a", 1}}, {"unit", Lid(20), {"c", 2}}};
  t.cables = {{{"a", 2}, {"b", 1}}, {{"b", 2}, {"c", 1}}};
  return t;
}

class SwitchPlaceTest : public ::testing::Test {
 protected:
  // A port that listens; returns its address.
  PeerAddress listen(Switch& sw, std::uint8_t number) {
    InProcessUnderlay& carrier = hub.add_endpoint();
    sw.add_port(number, carrier, config(), nullptr, clock.now());
    return carrier.address();
  }
  void connect(Switch& sw, std::uint8_t number, const PeerAddress& to) {
    sw.add_port(number, hub.add_endpoint(), config(), &to, clock.now());
  }
  PortConfig config() { return link_world::config_of(0x100 + ++ports_, 7); }
  void run() {
    link_world::run_for(clock, 3s, [this] {
      bool made_progress = a.step(clock.now());
      made_progress |= b.step(clock.now());
      made_progress |= c.step(clock.now());
      if (node != nullptr) made_progress |= node->step(clock.now());
      return made_progress;
    });
  }
  // Runs, and returns the lines of the log that contain this.
  std::size_t lines_with(const std::string& text) {
    ::testing::internal::CaptureStderr();
    run();
    const std::string log = ::testing::internal::GetCapturedStderr();
    std::size_t lines = 0;
    for (std::size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) {
      ++lines;
    }
    EXPECT_GT(lines, 0U) << log;
    return lines;
  }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  Switch a{plan_of(row(), "a").value(), random};
  Switch b{plan_of(row(), "b").value(), random};
  Switch c{plan_of(row(), "c").value(), random};
  std::unique_ptr<link_world::End> node;

 private:
  std::uint64_t ports_ = 0;
};

TEST_F(SwitchPlaceTest, S000_34_the_switch_of_the_topology_is_accepted) {
  const PeerAddress at_b = listen(b, 1);
  connect(a, 2, at_b);
  run();
  EXPECT_TRUE(a.is_up() && b.is_up());
}

TEST_F(SwitchPlaceTest, S000_34_a_node_at_the_port_of_a_cable_is_refused) {
  const PeerAddress at_b = listen(b, 1);
  node = std::make_unique<link_world::End>(hub.add_endpoint(), link_world::config_of(0xE0, 5));
  node->port.connect(at_b, clock.now());
  EXPECT_EQ(lines_with("is refused: it is no port of a switch, and the topology has port 2 of "
                       "switch a (LID 1) here"),
            1U);
  EXPECT_FALSE(b.is_up());
  ASSERT_FALSE(node->watch.events.empty());
  EXPECT_EQ(node->watch.events[0], "refused: " + std::string(name(InitReason::kIdentity)));
  // The port is free for the right one.
  node = nullptr;
  connect(a, 2, at_b);
  run();
  EXPECT_TRUE(b.is_up());
}

TEST_F(SwitchPlaceTest, S000_34_a_cable_at_the_port_of_a_node_is_refused) {
  const PeerAddress at_c = listen(c, 2);
  connect(b, 2, at_c);
  EXPECT_EQ(lines_with("is refused: it is port 2 of a switch (LID 2), and the topology has node "
                       "unit here"),
            1U);
  EXPECT_FALSE(b.is_up() || c.is_up());
}

// The right switch by the wrong port of it.
TEST_F(SwitchPlaceTest, S000_34_swapped_cables_are_refused) {
  const PeerAddress at_b = listen(b, 2);
  connect(a, 2, at_b);
  EXPECT_EQ(lines_with("is refused: it is port 2 of a switch (LID 1), and the topology has port 1 "
                       "of switch c (LID 3) here"),
            1U);
  EXPECT_FALSE(a.is_up() || b.is_up());
}

// Another switch, whose port has the right number.
TEST_F(SwitchPlaceTest, S000_34_another_switch_is_refused) {
  const PeerAddress at_c = listen(c, 1);
  connect(a, 2, at_c);
  EXPECT_EQ(lines_with("is refused: it is port 2 of a switch (LID 1), and the topology has port 2 "
                       "of switch b (LID 2) here"),
            1U);
  EXPECT_FALSE(a.is_up() || c.is_up());
}

// A switch that connects to a unit without a switch.
TEST_F(SwitchPlaceTest, S000_34_a_node_that_listens_at_the_end_of_a_cable_gets_no_link) {
  InProcessUnderlay& at_node = hub.add_endpoint();
  node = std::make_unique<link_world::End>(at_node, link_world::config_of(0xE0, 5, true));
  connect(a, 2, at_node.address());
  EXPECT_EQ(lines_with("is refused: it is no port of a switch, and the topology has port 1 of "
                       "switch b (LID 2) here"),
            1U);
  EXPECT_FALSE(a.is_up());
}

TEST_F(SwitchPlaceTest, B_02_a_second_node_of_one_identity_is_one_line_at_the_switch) {
  const PeerAddress at_a = listen(a, 1);
  node = std::make_unique<link_world::End>(hub.add_endpoint(), link_world::config_of(0xE0, 5));
  node->port.connect(at_a, clock.now());
  run();
  ASSERT_TRUE(a.is_up());
  link_world::End copy(hub.add_endpoint(), link_world::config_of(0xE0, 6));
  copy.port.connect(at_a, clock.now());
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 300; ++i) {
    clock.advance(10ms);
    a.step(clock.now());
    for (link_world::End* end : {node.get(), &copy}) end->step(clock.now());
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::size_t at = log.find("is refused: it has the identity of");
  ASSERT_NE(at, std::string::npos) << log;
  EXPECT_EQ(log.find("is refused", at + 1), std::string::npos) << log;
}

}  // namespace switch_place_test
}  // namespace splitnic::fabric
