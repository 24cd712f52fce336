// The network layer of end nodes: host and unit in two subnets have a link from end to end through
// a router, and what does not come from there is dropped and counted.
#include "fabric_emul/switching/network_layer.h"

#include <gtest/gtest.h>

#include "fabric_emul/switching/attachment.h"
#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/switching/queue_lid.h"
#include "tests/unit/fabric_emul/switching/attached_node.h"
#include "tests/unit/fabric_emul/switching/router_world.h"

namespace splitnic::fabric {
namespace network_layer_test {

using namespace router_world;

// Node h names the office; u listens.
struct TwoSubnets : RouterWorld {
  TwoSubnets()
      : h(hub.add_endpoint(), carriers[1]->address(), 0xE1, 500, false, clock),
        u(hub.add_endpoint(), carriers[2]->address(), 0xE0, 300, true, clock) {
    h.end->port.connect(h.attachment.peer("office"), clock.now());
    run(2s);
  }
  bool iterate() {
    bool made_progress = step();
    for (Node* node : {&h, &u}) made_progress |= node->end->step(clock.now());
    return made_progress;
  }
  void settle() {
    while (iterate()) {
    }
  }
  void run(base::Duration time) {
    link_world::run_for(clock, time, [this] { return iterate(); });
  }
  // Writes cells at this end. Returns how many the link took.
  unsigned write(Node& from, unsigned count, std::size_t bytes) {
    const Link& link = from.end->link();
    unsigned written = 0;
    while (written < count &&
           link_world::write(from.end->link(),
                             cell(link.local_lid(), link.remote_lid(), bytes, written))) {
      ++written;
    }
    from.end->port.flush(clock.now());
    return written;
  }
  static std::uint64_t count(const Node& node, std::string_view counter) {
    std::uint64_t found = 0;
    node.attachment.visit_counters([&](std::string_view name, std::uint64_t value) {
      if (name == counter) found += value;
    });
    return found;
  }
  Node h, u;
};

TEST(NetworkLayerTest,
     S000_33_S000_38_X_30_host_and_unit_of_two_subnets_have_a_link_from_end_to_end) {
  TwoSubnets world;
  Link& of_h = world.h.end->link();
  ASSERT_TRUE(of_h.up());
  EXPECT_EQ(of_h.peer_eui64(), Eui64(0xE0));
  EXPECT_EQ(of_h.local_lid(), Lid(11));
  EXPECT_TRUE(NetworkLayer::is_peer(of_h.remote_lid()));
  EXPECT_EQ(of_h.peer_name().substr(0, 11), "office via ");
  Link& of_u = world.u.end->link();
  ASSERT_TRUE(of_u.up());
  EXPECT_EQ(of_u.local_lid(), Lid(20));
  EXPECT_EQ(of_u.peer_name().substr(0, 14), "fd00:a::b via ");
  // Rights by LID: a peer of another subnet is no node of this one.
  EXPECT_EQ(node_of(of_u.remote_lid()), of_u.remote_lid());
  // Its cells are shorter by a GNH than those of the hop.
  EXPECT_EQ(of_h.mcp() + kGnhBytes, world.h.attachment.link().mcp());
  const std::size_t longest = of_h.mcp() - kCrcBytes;
  for (Node* from : {&world.h, &world.u}) {
    Node& to = from == &world.h ? world.u : world.h;
    to.end->cells.clear();
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{77}, longest}) {
      ASSERT_EQ(world.write(*from, 5, bytes), 5U);
      world.settle();
    }
    ASSERT_EQ(to.end->cells.size(), 15U);
    EXPECT_GE(world.router.counters()[RouterCounter::kCell], 15U);  // with G = 1 there, and 0 above
    for (const Cell& got : to.end->cells) {
      CellView view;
      ASSERT_EQ(parse_cell(got, view), CellError::kNone);
      EXPECT_TRUE(view.gnh.empty());
      EXPECT_EQ(view.header.slid, to.end->link().remote_lid());
      EXPECT_EQ(view.header.dlid, to.end->link().local_lid());
      PacketCrc crc;
      crc.add(view);
      EXPECT_EQ(view.packet_crc, crc.value());
    }
  }
  EXPECT_TRUE(world.is_balanced());
}

TEST(NetworkLayerTest, S000_33_S000_38_both_ends_know_that_their_link_crosses_a_router) {
  TwoSubnets world;
  for (Node* node : {&world.h, &world.u}) {
    EXPECT_TRUE(node->end->link().crosses_routers());
    EXPECT_FALSE(node->attachment.link().crosses_routers()) << "the hop";
  }
}

TEST(NetworkLayerTest, S000_33_the_link_comes_back_after_the_router_was_away) {
  TwoSubnets world;
  ASSERT_TRUE(world.h.end->link().up());
  world.a.send_bye(world.clock.now());
  world.run(2s);
  EXPECT_TRUE(world.h.end->link().up());
  ASSERT_EQ(world.write(world.h, 1, 8), 1U);
  world.settle();
  EXPECT_EQ(world.u.end->cells.size(), 1U);
}

struct BadArrival {
  const char* name;
  const char* counter;
  void (*change)(CellHead& head, Gnh& gnh);
};
class BadArrivals : public ::testing::TestWithParam<BadArrival> {};

// The switch of u, played by a plain port, sends what no switch passes.
TEST_P(BadArrivals, S000_33_what_an_end_node_drops) {
  base::ManualClock clock;
  InProcessHub hub;
  InProcessUnderlay& at_switch = hub.add_endpoint();
  PortConfig config = link_world::config_of(0x300, 9, true);
  config.number = 2;
  config.lids = [](const PeerAddress&) { return LinkLids{Lid(2), Lid(20)}; };
  link_world::End false_switch(at_switch, config);
  Node u(hub.add_endpoint(), at_switch.address(), 0xE0, 300, true, clock);
  const auto settle = [&] {
    for (int i = 0; i < 100; ++i, clock.advance(10ms)) {
      false_switch.step(clock.now());
      u.end->step(clock.now());
    }
  };
  settle();
  ASSERT_TRUE(u.attachment.is_attached());
  Mgmt m;
  m.kind = MgmtKind::kResolved;
  m.transaction = UINT64_MAX;
  m.instance = 9;
  const auto place = place_of(plan_in(topology_b(), 0), Lid(20));
  m.private_data = place;
  ASSERT_TRUE(send_mgmt(false_switch.link(), Lid(2), Lid(20), m));
  settle();
  const auto arrive = [&](auto&& change) {
    const Cell sent = global_with([&](CellHead& head, Gnh& gnh) {
      head.header.slid = Lid(2);
      head.header.dlid = Lid(20);
      head.header.op = Op::kMgmt;
      head.header.service = Service::kMgmt;
      head.header.pos = Pos::kOnly;
      head.header.flags = 0;
      change(head, gnh);
    });
    ASSERT_TRUE(link_world::write(false_switch.link(), sent));
    settle();
  };
  arrive(GetParam().change);
  EXPECT_EQ(TwoSubnets::count(u, GetParam().counter), 1U);
  std::uint64_t drops = 0;
  u.attachment.visit_counters([&](std::string_view name, std::uint64_t value) {
    if (name.starts_with("path.rx.drop.")) drops += value;
  });
  EXPECT_EQ(drops, 1U);
}

INSTANTIATE_TEST_SUITE_P(
    NetworkLayer, BadArrivals,
    ::testing::Values(
        BadArrival{"for_another_node", "path.rx.drop.destination",
                   [](CellHead&, Gnh& gnh) { gnh.destination = address(0xB, Lid(21)).bytes; }},
        BadArrival{"from_its_subnet", "path.rx.drop.origin",
                   [](CellHead&, Gnh& gnh) { gnh.source = address(0xB, Lid(21)).bytes; }},
        BadArrival{"from_no_port", "path.rx.drop.origin",
                   [](CellHead&, Gnh& gnh) { gnh.source.at(12) = std::byte{1}; }},
        BadArrival{"by_no_router", "path.rx.drop.origin",
                   [](CellHead& head, Gnh&) { head.header.slid = Lid(21); }},
        BadArrival{"hop_limit_0", "path.rx.drop.network",
                   [](CellHead&, Gnh& gnh) { gnh.hop_limit = 0; }},
        BadArrival{"length", "path.rx.drop.network", [](CellHead&, Gnh& gnh) { ++gnh.length; }},
        BadArrival{"datagram_for_another_node", "path.rx.drop.destination",
                   [](CellHead& head, Gnh& gnh) {
                     as_datagram(head, gnh);
                     gnh.destination = address(0xB, Lid(21)).bytes;
                   }},
        BadArrival{"datagram_from_its_subnet", "path.rx.drop.origin",
                   [](CellHead& head, Gnh& gnh) {
                     as_datagram(head, gnh);
                     gnh.source = address(0xB, Lid(21)).bytes;
                   }},
        BadArrival{"datagram_of_another_length", "path.rx.drop.network",
                   [](CellHead& head, Gnh& gnh) {
                     as_datagram(head, gnh);
                     ++gnh.length;
                   }}),
    [](const auto& test) { return std::string(test.param.name); });

// Its address has the form of a network address, and the node has sent nothing to a leg yet.
TEST(NetworkLayerTest, S000_48_a_host_of_a_lan_that_sends_first_is_no_peer) {
  const SwitchPlan plan = plan_in(topology_b(), 0);
  NetworkLayer layer;
  ASSERT_TRUE(layer.learn(place_of(plan, Lid(20)), Lid(20)));
  const auto take = [&](const NetworkAddress& source) {
    const Cell sent = global_with([&](CellHead& head, Gnh& gnh) {
      head.header.slid = Lid(2);
      head.header.dlid = Lid(20);
      as_datagram(head, gnh);
      gnh.source = source.bytes;
    });
    layer.forget_cells();
    return layer.take({sent}, header_of(sent).value());
  };
  const auto on_lan = [](unsigned number) {
    return address(0xC, Lid(static_cast<std::uint16_t>(number)));
  };
  constexpr unsigned kHosts = 5000;
  static_assert(kHosts > NetworkLayer::kPeersMax);
  unsigned dropped = 0;
  for (unsigned number = 1; number <= kHosts; ++number) {
    dropped += take(on_lan(number)).fault == NetworkLayer::Fault::kOrigin ? 1U : 0U;
  }
  EXPECT_EQ(dropped, kHosts);
  const Lid laptop = layer.resolved(place_of(plan, base::as_bytes("laptop")));
  ASSERT_TRUE(NetworkLayer::is_peer(laptop)) << "no host has taken its place";
  EXPECT_EQ(take(kH).from, laptop);
  EXPECT_EQ(take(on_lan(5)).fault, NetworkLayer::Fault::kOrigin);
  layer.set_leg(laptop);
  EXPECT_EQ(take(on_lan(5)).from, laptop) << "behind the leg, though it has been heard before";
  EXPECT_EQ(take(kH).from, laptop);
}

TEST(NetworkLayerTest, S000_33_the_switch_replies_with_the_place_of_a_port_and_of_a_name) {
  const SwitchPlan plan = plan_in(topology_a(), 0);
  NetworkLayer layer;
  EXPECT_FALSE(layer.is_known());
  EXPECT_EQ(layer.resolved(place_of(plan, base::as_bytes("office"))), Lid());  // before the place
  const auto place = place_of(plan, Lid(11));
  EXPECT_EQ(place.size(), kNetworkPlaceBytes + 4);  // two routers
  ASSERT_TRUE(layer.learn(place, Lid(11)));
  EXPECT_TRUE(layer.is_known());
  const Lid office = layer.resolved(place_of(plan, base::as_bytes("office")));
  EXPECT_TRUE(NetworkLayer::is_peer(office));
  EXPECT_EQ(layer.router_to(office), Lid(1));
  EXPECT_EQ(layer.name_of(office), "fd00:b::14");
  EXPECT_EQ(layer.gnh_to(office, 3, 9), gnh_between(kH, kU, 3, 9));
  EXPECT_EQ(place_of(plan, base::as_bytes("h")).size(), 2U);
  EXPECT_TRUE(place_of(plan, base::as_bytes("nobody")).empty());
  // Of another port, cut, or with half a LID.
  EXPECT_FALSE(layer.learn(place, Lid(12)));
  for (const std::size_t bytes : {std::size_t{1}, kNetworkPlaceBytes - 1, kNetworkPlaceBytes + 1}) {
    EXPECT_FALSE(layer.learn(base::Bytes(place).first(bytes), Lid(11))) << bytes;
  }
  EXPECT_EQ(layer.resolved(place), Lid());
  EXPECT_TRUE(layer.learn({}, Lid(11)));
  EXPECT_FALSE(layer.is_known());
}

}  // namespace network_layer_test
}  // namespace splitnic::fabric
