// A switch with a host that connects to a path of the unit. The switch can be started again with
// another topology.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/unit/fabric_emul/switching/attached_node.h"

namespace splitnic::fabric::path_of_a_node {

using namespace switch_world;

class PathOfANodeTest : public ::testing::Test {
 protected:
  explicit PathOfANodeTest(std::uint8_t lmc_of_host = 0) {
    if (lmc_of_host != 0) topology.nodes[0].lid = Lid(24);
    topology.nodes[0].lmc = lmc_of_host;
    topology.nodes[1].lid = Lid(20);
    topology.nodes[1].lmc = 2;
    start_switch(7);
    unit = std::make_unique<Node>(*at_node[1], carriers[1]->address(), 0xE2, 300, true, clock);
  }
  InProcessUnderlay& at_switch(std::size_t port) { return *carriers[port - 1]; }
  // With the topology as it is now.
  void start_switch(std::uint64_t instance) {
    sw = std::make_unique<Switch>(plan_of(topology, "sw").value(), random);
    for (std::uint8_t port = 1; port <= 2; ++port) {
      sw->add_port(port, at_switch(port), link_world::config_of(0x100U + port, instance), nullptr,
                   clock.now());
    }
  }
  void start_host(std::uint64_t instance, unsigned path) {
    host =
        std::make_unique<Node>(*at_node[0], carriers[0]->address(), 0xE1, instance, false, clock);
    host->end->port.connect(host->attachment.peer("n2", path), clock.now());
  }
  void run(base::Duration time) {
    link_world::run_for(clock, time, [this] {
      bool made_progress = sw->step(clock.now());
      for (Node* node : {host.get(), unit.get()}) {
        if (node != nullptr) made_progress |= node->end->step(clock.now());
      }
      return made_progress;
    });
  }
  // Sends a cell each way over the link of the host, and returns whether both arrive.
  bool carries() {
    if (host->end->watch.link == nullptr) return false;
    Link& near = host->end->link();
    Link* far = unit->end->port.by_lid(near.local_lid());
    if (!near.up() || far == nullptr || !far->up()) return false;
    host->end->cells.clear();
    unit->end->cells.clear();
    const Cell there = cell(near.local_lid(), near.remote_lid(), 100, 1);
    const Cell back = cell(far->local_lid(), far->remote_lid(), 100, 2);
    EXPECT_TRUE(link_world::write(near, there) && link_world::write(*far, back));
    host->end->port.flush(clock.now());
    unit->end->port.flush(clock.now());
    run(10ms);
    return unit->end->cells == link_world::Cells{there} &&
           host->end->cells == link_world::Cells{back};
  }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  Topology topology = star(2);
  std::vector<InProcessUnderlay*> carriers{&hub.add_endpoint(), &hub.add_endpoint()};
  std::vector<InProcessUnderlay*> at_node{&hub.add_endpoint(), &hub.add_endpoint()};
  std::unique_ptr<Switch> sw;
  std::unique_ptr<Node> unit, host;
};

}  // namespace splitnic::fabric::path_of_a_node
