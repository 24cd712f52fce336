// Four switches in a ring with credits on each hop, under load: routes without loops lose nothing
// and never stall; where all go around the ring, the lanes wait for each other, and layers of lanes
// do not.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "fabric_emul/switching/switch.h"
#include "tests/unit/fabric_emul/switching/subnet_world.h"

namespace splitnic::fabric {
namespace switch_ring_test {

using namespace subnet_world;

constexpr std::size_t kSwitches = 4;

// Node i is at switch i and sends all it can to the node that is opposite.
class Ring {
 public:
  explicit Ring(bool is_clockwise, RoutingKind routing = RoutingKind::kUpDown) {
    Topology topology = ring(kSwitches);
    topology.nodes.pop_back();
    topology.routing = routing;
    for (std::size_t i = 0; i < kSwitches; ++i) {
      switches_[i] =
          std::make_unique<Switch>(plan_of(topology, "s" + std::to_string(i + 1)).value(), random_);
      if (is_clockwise) switches_[i]->set_tables(clockwise(i));
      for (InProcessUnderlay*& one : at_[i]) one = &hub_.add_endpoint();
    }
    for (std::size_t i = 0; i < kSwitches; ++i) {
      const PeerAddress next = at_[(i + 1) % kSwitches][1]->address();
      switches_[i]->add_port(1, *at_[i][0], config(10 * i + 1), &next, clock_.now());
      switches_[i]->add_port(2, *at_[i][1], config(10 * i + 2), nullptr, clock_.now());
      switches_[i]->add_port(3, *at_[i][2], config(10 * i + 3), nullptr, clock_.now());
      nodes_[i] = std::make_unique<link_world::End>(hub_.add_endpoint(), config(10 * i + 4));
      nodes_[i]->port.connect(at_[i][2]->address(), clock_.now());
    }
    for (unsigned i = 0; i < 100; ++i) step();
  }

  // Returns how long some node got nothing at most.
  base::Duration send_for(base::Duration time) {
    std::array<base::Time, kSwitches> got_at;
    got_at.fill(clock_.now());
    base::Duration longest{};
    for (const base::Time end = clock_.now() + time; clock_.now() < end;) {
      for (std::size_t i = 0; i < kSwitches; ++i) {
        while (link_world::write(nodes_[i]->link(), cell_[i])) ++sent_[i];
      }
      step();
      for (std::size_t i = 0; i < kSwitches; ++i) {
        if (const std::size_t got = nodes_[i]->cells.size(); got != 0) {
          nodes_[i]->cells.clear();
          received_[i] += got;
          got_at[i] = clock_.now();
        }
        longest = std::max(longest, clock_.now() - got_at[i]);
      }
    }
    return longest;
  }
  void drain() {
    for (unsigned i = 0; i < 2000; ++i) step();
    for (std::size_t i = 0; i < kSwitches; ++i) received_[i] += nodes_[i]->cells.size();
  }
  std::uint64_t count(SwitchCounter which) const {
    std::uint64_t cells = 0;
    for (const auto& one : switches_) cells += one->counters()[which];
    return cells;
  }
  std::uint64_t sent_to(std::size_t node) const { return sent_[(node + 2) % kSwitches]; }
  std::uint64_t received_by(std::size_t node) const { return received_[node]; }

 private:
  static PortConfig config(std::uint64_t number) {
    PortConfig config = link_world::with_profile(
        link_world::config_of(0x100 + number, 1000 + number), LinkProfile::kFull);
    config.full.window = 64;
    return config;
  }
  static Lid lid(std::size_t node) { return Lid(static_cast<std::uint16_t>(101 + node)); }
  // Port 1 leads to the next switch.
  static ForwardingTables clockwise(std::size_t own) {
    ForwardingTables tables;
    for (std::size_t i = 0; i < kSwitches; ++i) {
      tables.of(kNoInput).set(lid(i), i == own ? 3 : 1);
    }
    return tables;
  }
  void step() {
    for (const auto& one : switches_) one->step(clock_.now());
    for (const auto& node : nodes_) node->step(clock_.now());
    clock_.advance(2ms);
  }

  base::ManualClock clock_;
  base::SeededRandom random_{1};
  InProcessHub hub_{{.batch_queue_max = 4, .drops_when_full = true}};
  std::array<std::array<InProcessUnderlay*, 3>, kSwitches> at_{};
  std::array<std::unique_ptr<Switch>, kSwitches> switches_;
  std::array<std::unique_ptr<link_world::End>, kSwitches> nodes_;
  const std::array<Cell, kSwitches> cell_{
      switch_world::cell(lid(0), lid(2), 1000), switch_world::cell(lid(1), lid(3), 1000),
      switch_world::cell(lid(2), lid(0), 1000), switch_world::cell(lid(3), lid(1), 1000)};
  std::array<std::uint64_t, kSwitches> sent_{}, received_{};
};

// The long form runs for 60 s.
base::Duration load_time(base::Duration otherwise) {
  return std::getenv("SPLITNIC_LONG") == nullptr ? otherwise : base::Duration(60s);
}

// The lanes were full, and every cell arrives.
void expect_all_arrive(Ring& ring) {
  ring.drain();
  EXPECT_GT(ring.count(SwitchCounter::kWait), 1000U);
  EXPECT_EQ(ring.count(SwitchCounter::kDropStalled), 0U);
  for (std::size_t node = 0; node < kSwitches; ++node) {
    EXPECT_GT(ring.received_by(node), 5000U);
    EXPECT_EQ(ring.received_by(node), ring.sent_to(node));
  }
}

TEST(SwitchRingTest, S000_45_routes_without_loops_never_stall_and_lose_nothing) {
  Ring ring(false);
  EXPECT_LT(ring.send_for(load_time(4s)), 20ms);
  expect_all_arrive(ring);
}

// The time that an output may make inputs wait is what ends it.
TEST(SwitchRingTest, S000_45_lanes_that_wait_for_each_other_in_a_loop_are_given_up) {
  Ring ring(true);
  ring.send_for(2s);
  EXPECT_GT(ring.count(SwitchCounter::kDropStalled), 100U);
}

// The same load by the same tables.
TEST(SwitchRingTest, S000_41_layers_of_lanes_never_wait_for_each_other_in_a_loop) {
  Ring ring(true, RoutingKind::kLayered);
  EXPECT_LT(ring.send_for(load_time(10s)), 50ms);
  expect_all_arrive(ring);
}

}  // namespace switch_ring_test
}  // namespace splitnic::fabric
