// The router: a cell changes as the specification has it and in nothing else, and each bad one is
// dropped and counted by its cause.
#include "fabric_emul/switching/router.h"

#include <gtest/gtest.h>

#include <tuple>

#include "fabric_emul/wire/partition.h"
#include "tests/support/counter_sum.h"
#include "tests/unit/fabric_emul/switching/router_world.h"

namespace splitnic::fabric {
namespace router_test {

using namespace router_world;

TEST(RouterTest, S000_33_hop_limit_and_local_addresses_change_payload_and_packet_crc_do_not) {
  PlainWorld world;
  base::SeededRandom random(5);
  for (unsigned i = 0; i < 300; ++i) {
    const std::size_t bytes = random.next() % 1200;
    const auto hop_limit = static_cast<std::uint8_t>(2 + random.next() % 254);
    const Cell sent =
        global_with([&](CellHead&, Gnh& gnh) { gnh.hop_limit = hop_limit; }, bytes, i);
    world.write(world.h, sent);
    ASSERT_EQ(world.u.cells.size(), i + 1U);
    const Cell& got = world.u.cells.back();
    CellView before, after;
    ASSERT_EQ(parse_cell(sent, before), CellError::kNone);
    ASSERT_EQ(parse_cell(got, after), CellError::kNone);
    PacketCrc crc;
    crc.add(after);
    EXPECT_EQ(after.packet_crc, before.packet_crc);
    EXPECT_EQ(after.packet_crc, crc.value());
    EXPECT_EQ(after.header.dlid, Lid(20));
    EXPECT_EQ(after.header.slid, Lid(2));
    EXPECT_EQ(Gnh::parse(after.gnh)->hop_limit, hop_limit - 1);
    // Everything but the LIDs, the hop limit and the cell CRC is as it was.
    Cell same = sent;
    std::copy_n(got.begin() + 4, 4, same.begin() + 4);
    same[kMacHeaderBytes + 7] = got[kMacHeaderBytes + 7];
    std::copy_n(got.end() - kCrcBytes, kCrcBytes, same.end() - kCrcBytes);
    EXPECT_EQ(got, same);
  }
  EXPECT_EQ(world.count(RouterCounter::kCell), 300U);
  EXPECT_TRUE(world.is_balanced());
}

TEST(RouterTest, S000_33_of_a_datagram_only_lids_and_hop_limit_change) {
  PlainWorld world;
  const Cell sent = global_with(as_datagram, 200);
  world.write(world.h, sent);
  ASSERT_EQ(world.u.cells.size(), 1U);
  const Cell& got = world.u.cells[0];
  CellView view;
  ASSERT_EQ(parse_cell(got, view), CellError::kNone);
  EXPECT_EQ(view.header.sl, 5) << "the traffic class is the datagram's";
  Cell same = sent;
  std::copy_n(got.begin() + 4, 4, same.begin() + 4);
  same[kMacHeaderBytes + 7] = std::byte{kGlobalHopLimit - 1};
  std::copy_n(got.end() - kCrcBytes, kCrcBytes, same.end() - kCrcBytes);
  EXPECT_EQ(got, same);
  EXPECT_TRUE(world.is_balanced());
}

TEST(RouterTest, S000_33_the_example_of_the_page) {
  PlainWorld world;
  const std::vector<std::byte> payload{std::byte{'a'}, std::byte{'b'}, std::byte{'c'},
                                       std::byte{'d'}};
  const Gnh gnh = gnh_between(kH, kU, 0, 4);
  CellHead head;
  head.header.pos = Pos::kOnly;
  head.header.dlid = Lid(1);
  head.header.slid = Lid(11);
  head.header.dqpn = Qpn(0x11);
  head.header.sqpn = Qpn(0x10);
  head.header.psn = Psn(0x100);
  head.gnh = &gnh;
  Cell sent(cell_bytes(head, 4));
  emit_cell(sent, head, payload);
  EXPECT_EQ(base::load_be<std::uint32_t>(&sent[sent.size() - 4]), 0xC8E3B2D3U);
  world.write(world.h, sent);
  ASSERT_EQ(world.u.cells.size(), 1U);
  const Cell& got = world.u.cells[0];
  EXPECT_EQ(base::load_be<std::uint32_t>(&got[got.size() - 4]), 0x0B5C0DC2U);
}

TEST(RouterTest, S000_48_the_longest_prefix_leads_and_the_default_route_the_rest) {
  PlainWorld world;
  world.write(world.h, global_with([](CellHead&, Gnh& gnh) {
                gnh.destination = address(0xC, Lid(7)).bytes;
              }));
  ASSERT_EQ(world.r3.cells.size(), 1U);
  CellView view;
  ASSERT_EQ(parse_cell(world.r3.cells[0], view), CellError::kNone);
  EXPECT_EQ(view.header.dlid, Lid(3));
  EXPECT_EQ(view.header.slid, Lid(1));
  // From the other router, and back to the one subnet that is here.
  world.write(world.r3, global_with([](CellHead& head, Gnh& gnh) {
                head.header.slid = Lid(3);
                gnh.source = address(0xC, Lid(7)).bytes;
              }));
  EXPECT_EQ(world.u.cells.size(), 1U);
  EXPECT_EQ(world.count(RouterCounter::kCell), 2U);
}

TEST(RouterTest, S004_21_the_class_gives_the_service_level_and_so_the_lane) {
  PlainWorld world;
  world.write(world.h, global_with([](CellHead& head, Gnh& gnh) {
                head.header.sl = 0;
                gnh.traffic_class = 7U << 4;
              }));
  CellView view;
  ASSERT_EQ(parse_cell(world.u.cells.at(0), view), CellError::kNone);
  EXPECT_EQ(view.header.sl, 7);
  EXPECT_EQ(support::counter_of(world.b, "switch.lane3.tx.cell"), 1U);
}

struct Bad {
  const char* name;
  RouterCounter counter;
  void (*change)(CellHead& head, Gnh& gnh);
};

class BadCells : public ::testing::TestWithParam<Bad> {};

TEST_P(BadCells, S000_33_are_dropped_and_counted_by_cause) {
  PlainWorld world;
  world.write(world.h, global_with(GetParam().change));
  EXPECT_TRUE(world.u.cells.empty() && world.r3.cells.empty());
  EXPECT_EQ(world.count(GetParam().counter), 1U);
  EXPECT_EQ(world.count(RouterCounter::kCell), 0U);
  EXPECT_TRUE(world.is_balanced());
  world.write(world.h, global_cell());
  EXPECT_EQ(world.u.cells.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Router, BadCells,
    ::testing::Values(
        Bad{"hop_limit_0", RouterCounter::kDropHopLimit,
            [](CellHead&, Gnh& gnh) { gnh.hop_limit = 0; }},
        Bad{"hop_limit_1", RouterCounter::kDropHopLimit,
            [](CellHead&, Gnh& gnh) { gnh.hop_limit = 1; }},
        Bad{"source_of_another_node", RouterCounter::kDropSource,
            [](CellHead&, Gnh& gnh) { gnh.source = address(0xA, Lid(12)).bytes; }},
        Bad{"source_of_another_subnet", RouterCounter::kDropSource,
            [](CellHead&, Gnh& gnh) { gnh.source = address(0xC, Lid(11)).bytes; }},
        Bad{"to_the_router", RouterCounter::kDropDestination,
            [](CellHead&, Gnh& gnh) { gnh.destination = address(0xA, Lid(1)).bytes; }},
        Bad{"to_the_router_in_the_other_subnet", RouterCounter::kDropDestination,
            [](CellHead&, Gnh& gnh) { gnh.destination = address(0xB, Lid(2)).bytes; }},
        Bad{"to_oneself", RouterCounter::kDropDestination,
            [](CellHead&, Gnh& gnh) { gnh.destination = kH.bytes; }},
        Bad{"to_nobody", RouterCounter::kDropNeighbour,
            [](CellHead&, Gnh& gnh) { gnh.destination = address(0xB, Lid(21)).bytes; }},
        Bad{"to_no_port", RouterCounter::kDropNeighbour,
            [](CellHead&, Gnh& gnh) { gnh.destination.at(9) = std::byte{1}; }},
        Bad{"length", RouterCounter::kDropHeader, [](CellHead&, Gnh& gnh) { ++gnh.length; }},
        Bad{"datagram_of_another_length", RouterCounter::kDropHeader,
            [](CellHead& head, Gnh& gnh) {
              as_datagram(head, gnh);
              ++gnh.length;
            }},
        Bad{"datagram_of_another_source", RouterCounter::kDropSource,
            [](CellHead& head, Gnh& gnh) {
              as_datagram(head, gnh);
              gnh.source = address(0xA, Lid(12)).bytes;
            }},
        Bad{"datagram_at_its_end", RouterCounter::kDropHopLimit,
            [](CellHead& head, Gnh& gnh) {
              as_datagram(head, gnh);
              gnh.hop_limit = 1;
            }},
        Bad{"next_header", RouterCounter::kDropHeader,
            [](CellHead&, Gnh& gnh) { gnh.next_header = 17; }}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(RouterTest, S000_33_a_gnh_that_is_not_whole_or_of_another_version_is_dropped) {
  PlainWorld world;
  // Flag G, and too few words of extensions for a GNH; the CRC is right.
  Cell truncated = global_cell();
  truncated[3] = std::byte{9};
  Cell version = global_cell();
  version[kMacHeaderBytes] = std::byte{0x40};
  for (Cell* cell : {&truncated, &version}) {
    base::store_be(cell->data() + cell->size() - kCrcBytes,
                   base::crc32c(base::Bytes(*cell).first(cell->size() - kCrcBytes)));
    world.write(world.h, *cell);
  }
  EXPECT_EQ(world.count(RouterCounter::kDropHeader), 2U);
  EXPECT_TRUE(world.u.cells.empty());
}

TEST(RouterTest, S000_33_what_another_router_sends_is_of_another_subnet) {
  PlainWorld world;
  world.write(world.r3, global_with([](CellHead& head, Gnh&) { head.header.slid = Lid(3); }));
  EXPECT_EQ(world.count(RouterCounter::kDropSource), 1U);
  EXPECT_TRUE(world.u.cells.empty());
}

TEST(RouterTest, S000_48_without_a_route_it_is_dropped) {
  PlainWorld world;
  world.write(world.u, cell_with(Lid(20), Lid(2), 8, 0, [gnh = Gnh()](CellHead& head) mutable {
                gnh = gnh_between(kU, address(0xC, Lid(7)), 0, 8);
                head.gnh = &gnh;
              }));
  // The route of subnet a is for all of the router.
  EXPECT_EQ(world.r3.cells.size(), 1U);
  Topology alone = topology_b();
  Switch only(plan_in(alone, 0), world.random);
  EXPECT_EQ(only.plan().network->route_to(address(0xC, Lid(7))), nullptr);
}

TEST(RouterTest, S000_48_a_loop_of_two_routers_ends_by_the_hop_limit) {
  PlainWorld world;
  // r3 rerounds each cell, as a router whose default route leads here.
  Cell cell = global_with([](CellHead&, Gnh& gnh) {
    gnh.destination = address(0xC, Lid(7)).bytes;
    gnh.hop_limit = 9;
  });
  world.write(world.h, cell);
  unsigned rounds = 0;
  while (!world.r3.cells.empty()) {
    ASSERT_LE(++rounds, 9U);
    const Cell got = std::move(world.r3.cells.back());
    world.r3.cells.clear();
    Gnh gnh = *gnh_of(got);
    if (gnh.hop_limit == 1) break;
    Cell back(got.size());
    // Of another subnet now, or it would be dropped for its source.
    gnh.source = address(0xD, Lid(5)).bytes;
    forward_global(back, got, gnh, {Lid(1), Lid(3)}, false);
    world.write(world.r3, back);
  }
  EXPECT_EQ(rounds, 4U);
  EXPECT_EQ(world.count(RouterCounter::kCell), 4U);
  EXPECT_EQ(world.count(RouterCounter::kDropHopLimit), 1U);
  EXPECT_TRUE(world.is_balanced());
}

// In subnet a all but fd00:b::/64 is behind the leg "lan", LID 30, at port 3.
Topology topology_with_leg() {
  Topology t = topology_a();
  t.switches.pop_back();
  t.cables.clear();
  t.nodes.push_back({"lan", Lid(30), {"r", 3}, {}});
  t.network->routes[1].via = "lan";
  return t;
}

struct RouterWithLeg : ::testing::Test {
  explicit RouterWithLeg(const Topology& of_a = topology_with_leg()) : a(plan_in(of_a, 1), random) {
    for (const auto& [at, end, number] :
         {std::tuple(&a, &h, 1), std::tuple(&a, &lan, 3), std::tuple(&b, &u, 2)}) {
      InProcessUnderlay& underlay = hub.add_endpoint();
      at->add_port(static_cast<std::uint8_t>(number), underlay,
                   link_world::config_of(0x100U + static_cast<unsigned>(number), 7), nullptr,
                   clock.now());
      end->port.connect(underlay.address(), clock.now());
    }
    link_world::run_for(clock, 1s, [this] { return step(); });
    EXPECT_TRUE(h.link().up() && lan.link().up() && u.link().up());
  }
  bool step() {
    bool made_progress = a.step(clock.now());
    made_progress |= b.step(clock.now());
    for (link_world::End* end : {&h, &lan, &u}) made_progress |= end->step(clock.now());
    return made_progress;
  }
  // Sends a cell of this end and source, and returns how it was counted.
  template <class Change>
  RouterCounter counted(link_world::End& from, const NetworkAddress& source, Change&& change) {
    const auto before = router.counters();
    const Cell sent = global_with([&](CellHead& head, Gnh& gnh) {
      head.header.slid = from.link().local_lid();
      gnh.source = source.bytes;
      change(head, gnh);
    });
    EXPECT_TRUE(link_world::write(from.link(), sent));
    from.port.flush(clock.now());
    while (step()) {
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(RouterCounter::kCount_); ++i) {
      const auto which = static_cast<RouterCounter>(i);
      if (router.counters()[which] != before[which]) return which;
    }
    return RouterCounter::kCount_;
  }
  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  Switch a, b{plan_in(topology_b(), 2), random};
  std::array<Switch*, 2> both{&a, &b};
  Router router{both};
  link_world::End h{hub.add_endpoint(), link_world::config_of(0x201, 1001)};
  link_world::End u{hub.add_endpoint(), link_world::config_of(0x202, 1002)};
  link_world::End lan{hub.add_endpoint(), link_world::config_of(0x203, 1003)};
};

TEST_F(RouterWithLeg, S000_48_takes_datagrams_of_a_lan_from_the_leg_and_from_nobody_else) {
  const NetworkAddress beyond = address(0xC, Lid(7));
  EXPECT_EQ(counted(lan, beyond, as_datagram), RouterCounter::kCell);
  EXPECT_EQ(u.cells.size(), 1U);
  EXPECT_EQ(counted(h, beyond, as_datagram), RouterCounter::kDropSource) << "of another node";
  EXPECT_EQ(counted(lan, beyond, [](CellHead&, Gnh&) {}), RouterCounter::kDropSource) << "no Raw";
  EXPECT_EQ(counted(lan, address(0xA, Lid(12)), as_datagram), RouterCounter::kDropSource);
  EXPECT_EQ(counted(lan, address(0xB, Lid(21)), as_datagram), RouterCounter::kDropSource)
      << "of the subnet that it is for";
  NetworkAddress group;
  group.bytes[0] = std::byte{0xFF};
  EXPECT_EQ(counted(lan, group, as_datagram), RouterCounter::kDropSource);
  EXPECT_EQ(u.cells.size(), 1U);
  // Its own address is that of a node.
  EXPECT_EQ(counted(lan, address(0xA, Lid(30)), as_datagram), RouterCounter::kCell);
}

// All routes of subnet a lead to the leg, and the router reaches subnet b all the same.
struct RouterWithLegAlone : RouterWithLeg {
  RouterWithLegAlone() : RouterWithLeg(topology()) {}
  static Topology topology() {
    Topology t = topology_with_leg();
    t.network->routes.erase(t.network->routes.begin());
    return t;
  }
};

TEST_F(RouterWithLegAlone, S000_48_no_leg_sends_in_the_name_of_a_subnet_of_the_router) {
  EXPECT_EQ(counted(lan, address(0xC, Lid(7)), as_datagram), RouterCounter::kCell);
  EXPECT_EQ(counted(lan, address(0xB, Lid(21)), as_datagram), RouterCounter::kDropSource);
}

TEST_F(RouterWithLeg, S000_48_forwards_to_the_leg_what_no_subnet_has) {
  const auto to = [](const NetworkAddress& destination) {
    return [destination](CellHead& head, Gnh& gnh) {
      as_datagram(head, gnh);
      gnh.destination = destination.bytes;
    };
  };
  const auto from_u = [&](const NetworkAddress& destination) {
    return counted(u, kU, [&](CellHead& head, Gnh& gnh) {
      to(destination)(head, gnh);
      head.header.dlid = Lid(2);
    });
  };
  EXPECT_EQ(from_u(address(0xC, Lid(7))), RouterCounter::kCell);
  ASSERT_EQ(lan.cells.size(), 1U);
  CellView view;
  ASSERT_EQ(parse_cell(lan.cells[0], view), CellError::kNone);
  EXPECT_EQ(view.header.dlid, Lid(30));
  EXPECT_EQ(view.header.slid, Lid(1));
  EXPECT_EQ(from_u(address(0xA, Lid(12))), RouterCounter::kDropNeighbour);
  // A leg is no router: nodes take nothing else of other subnets by it.
  EXPECT_EQ(a.plan().network->routers, std::set<Lid>{Lid(1)});
  EXPECT_EQ(lan.cells.size(), 1U);
}

// h sends as much as its link takes, and u reads nothing for a while.
TEST(RouterTest, S000_45_inputs_of_one_subnet_wait_for_an_output_of_the_other) {
  PlainWorld world({.batch_queue_max = 8});
  unsigned sent = 0;
  for (unsigned round = 0; round < 50 && world.a.may_read(1); ++round) {
    for (unsigned i = 0; i < World::kBurst; ++i) {
      if (!link_world::write(world.h.link(), global_cell(1200, sent))) break;
      ++sent;
    }
    world.h.port.flush(world.clock.now());
    world.step();
  }
  EXPECT_FALSE(world.a.may_read(1));
  EXPECT_GT(world.b.waiting_cells(), 0U);
  world.settle();
  EXPECT_TRUE(world.a.may_read(1));
  EXPECT_EQ(world.b.waiting_cells(), 0U);
  EXPECT_EQ(world.u.cells.size(), sent);
  EXPECT_TRUE(world.is_balanced());
}

TEST(RouterTest, S000_33_a_switch_that_is_no_router_drops_a_gnh_for_itself) {
  World world(2);
  const Gnh gnh = gnh_between(kH, kU, 0, 64);
  ASSERT_TRUE(world.write(
      1, cell_with(World::lid(1), Lid(1), 64, 0, [&](CellHead& head) { head.gnh = &gnh; })));
  world.settle();
  EXPECT_EQ(world.count(SwitchCounter::kDropMgmt), 1U);
}

}  // namespace router_test
}  // namespace splitnic::fabric
