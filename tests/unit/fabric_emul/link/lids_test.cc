// LIDs of a link where a topology gives them, and the number of a switch's port.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/fabric_emul/link/link_world.h"

namespace splitnic::fabric {
namespace lids_test {

using link_world::config_of;
using link_world::World;

PortConfig with_lids(PortConfig config, std::optional<LinkLids> lids) {
  config.lids = [lids](const PeerAddress&) { return lids; };
  return config;
}

TEST(LidsTest, S000_34_a_listener_assigns_the_lids_of_its_topology) {
  PortConfig listener = with_lids(config_of(0xA, 100, true), LinkLids{Lid(7), Lid(300)});
  listener.number = 5;
  World world({}, listener);
  world.connect();
  ASSERT_TRUE(world.b->link().up());
  EXPECT_EQ(world.b->link().local_lid(), Lid(300));
  EXPECT_EQ(world.b->link().remote_lid(), Lid(7));
  EXPECT_EQ(world.a->link().local_lid(), Lid(7));
  EXPECT_EQ(world.a->link().remote_lid(), Lid(300));
  EXPECT_EQ(world.b->link().peer_port(), 5);
  EXPECT_EQ(world.a->link().peer_port(), 0) << "an end node";
}

TEST(LidsTest, without_a_topology_the_listener_counts) {
  World world;
  world.connect();
  EXPECT_EQ(world.b->link().local_lid(), Lid(2));
  EXPECT_EQ(world.b->link().remote_lid(), Lid(1));
}

TEST(LidsTest, S000_34_a_client_takes_no_other_lids_than_its_own) {
  for (const LinkLids wrong : {LinkLids{Lid(301), Lid(7)}, LinkLids{Lid(300), Lid(8)}}) {
    World world({}, with_lids(config_of(0xA, 100, true), LinkLids{Lid(7), Lid(300)}),
                with_lids(config_of(0xB, 200), wrong));
    world.connect();
    EXPECT_EQ(world.b->watch.link, nullptr);
    EXPECT_GT(world.b->count(LinkCounter::kRxDropInit), 0U);
  }
  World world({}, with_lids(config_of(0xA, 100, true), LinkLids{Lid(7), Lid(300)}),
              with_lids(config_of(0xB, 200), LinkLids{Lid(300), Lid(7)}));
  world.connect();
  EXPECT_TRUE(world.b->link().up());
}

// Behind a switch a LID is an address: the process that is there now may state another name.
TEST(LidsTest, S000_34_a_lid_leads_to_the_peer_that_is_there_now) {
  World world({}, with_lids(config_of(0xA, 100, true), LinkLids{Lid(7), Lid(300)}));
  world.connect();
  Link& before = world.a->link();
  ASSERT_EQ(world.a->port.by_lid(Lid(300)), &before);
  link_world::End other(world.client_at, config_of(0xC, 300));
  other.port.connect(world.listener_at.address(), world.clock.now());
  for (int i = 0; i < 10; ++i) {
    world.a->receive(world.clock.now());
    world.a->port.flush(world.clock.now());
    other.receive(world.clock.now());
    other.port.flush(world.clock.now());
  }
  ASSERT_TRUE(other.watch.link != nullptr && other.link().up());
  Link* now = world.a->port.by_lid(Lid(300));
  ASSERT_NE(now, nullptr);
  EXPECT_NE(now, &before);
  EXPECT_EQ(now->peer_eui64(), Eui64(0xC));
}

// The process of the peer is the same, and what is above the link has the old LIDs.
TEST(LidsTest, S000_34_a_link_whose_lids_change_ends_what_is_above_it) {
  std::optional<LinkLids> at_listener = LinkLids{Lid(7), Lid(300)};
  std::optional<LinkLids> at_client = LinkLids{Lid(300), Lid(7)};
  PortConfig listener = config_of(0xA, 100, true), client = config_of(0xB, 200);
  listener.lids = [&at_listener](const PeerAddress&) { return at_listener; };
  client.lids = [&at_client](const PeerAddress&) { return at_client; };
  World world({}, listener, client);
  using Events = std::vector<std::string>;
  const Events& of_client = world.b->watch.events;
  const Events& of_listener = world.a->watch.events;
  world.connect();
  world.run(std::chrono::seconds(1));
  ASSERT_EQ(of_client, Events{"up"});
  at_listener = at_client = std::nullopt;  // the switch is away
  world.run(std::chrono::milliseconds(500));
  ASSERT_EQ(of_client, Events{"up"});
  at_listener = LinkLids{Lid(8), Lid(300)};
  at_client = LinkLids{Lid(300), Lid(8)};
  world.run(std::chrono::seconds(1));
  EXPECT_EQ(of_client,
            (Events{"up", "down: the LIDs of the link have changed", "restarted", "up"}));
  EXPECT_EQ(std::ranges::count(of_listener, "restarted"), 1);
  EXPECT_EQ(of_listener.back(), "up");
  EXPECT_EQ(world.a->watch.restarted_instance, 200U);
  EXPECT_EQ(world.a->link().local_lid(), Lid(8));
  EXPECT_EQ(world.b->link().remote_lid(), Lid(8));
}

TEST(LidsTest, S000_34_a_peer_that_can_have_no_lid_gets_no_link) {
  World world({}, with_lids(config_of(0xA, 100, true), std::nullopt));
  world.connect();
  EXPECT_EQ(world.a->watch.link, nullptr);
  EXPECT_GT(world.a->count(LinkCounter::kRxDropInit), 0U);
}

}  // namespace lids_test
}  // namespace splitnic::fabric
