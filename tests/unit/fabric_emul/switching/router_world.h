// A router over an in-process hub: subnet a (fd00:a::/64) with node h (LID 11) at port 1 and a
// cable at port 3, subnet b (fd00:b::/64) with node u (LID 20) at port 2. The router has LID 1 in a
// and 2 in b; to everything else the router with LID 3 in a leads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric_emul/switching/router.h"
#include "fabric_emul/wire/global_cell.h"
#include "tests/unit/fabric_emul/switching/switch_world.h"

namespace splitnic::fabric::router_world {

using namespace switch_world;

inline NetworkAddress subnet(std::uint8_t number) {
  NetworkAddress address;
  address.bytes[0] = std::byte{0xFD};
  address.bytes[3] = std::byte{number};
  return address;
}
inline NetworkAddress address(std::uint8_t number, Lid lid) {
  return network_address_of(subnet(number), lid);
}
inline const NetworkAddress kH = address(0xA, Lid(11)), kU = address(0xB, Lid(20));

inline Topology topology_a() {
  Topology t;
  t.switches = {{"r", Lid(1)}, {"r3", Lid(3)}};
  t.nodes = {{"h", Lid(11), {"r", 1}, {}}};
  t.cables = {{{"r", 3}, {"r3", 1}}};
  t.network =
      Topology::Network{subnet(0xA), {{{subnet(0xB), 64}, "r"}, {{}, "r3"}}, {{"office", kU}}};
  return t;
}
inline Topology topology_b(RoutingKind routing = RoutingKind::kShortest) {
  Topology t;
  t.routing = routing;
  t.switches = {{"r", Lid(2)}};
  t.nodes = {{"u", Lid(20), {"r", 2}, {}}};
  t.network = Topology::Network{subnet(0xB), {{{subnet(0xA), 64}, "r"}}, {{"laptop", kH}}};
  return t;
}
inline SwitchPlan plan_in(const Topology& topology, std::size_t ports_beyond) {
  SwitchPlan plan = plan_of(topology, "r").value();
  plan.ports_beyond = ports_beyond;
  return plan;
}

struct RouterWorld {
  explicit RouterWorld(const InProcessConfig& config = {},
                       RoutingKind routing_of_b = RoutingKind::kShortest)
      : hub(config), b(plan_in(topology_b(routing_of_b), 2), random) {
    add(a, 1, nullptr);
    add(a, 3, &at_r3.address());
    add(b, 2, nullptr);
  }
  void add(Switch& at, std::uint8_t number, const PeerAddress* to) {
    InProcessUnderlay& underlay = hub.add_endpoint();
    at.add_port(number, underlay, link_world::config_of(0x100U + number, 7), to, clock.now());
    carriers.at(number) = &underlay;
  }
  bool step() {
    bool made_progress = a.step(clock.now());
    made_progress |= b.step(clock.now());
    return made_progress;
  }
  std::uint64_t count(RouterCounter which) const { return router.counters()[which]; }
  // Each cell that came in went out, was for a switch, waits, or was dropped for one reason.
  bool is_balanced() const {
    std::uint64_t in = 0, out = 0;
    for (const Switch* one : {&a, &b}) {
      in += one->counters()[SwitchCounter::kRxCell];
      out += one->counters()[SwitchCounter::kTxCell] + one->counters()[SwitchCounter::kMgmt] +
             one->waiting_cells();
      one->counters().visit([&](std::string_view name, std::uint64_t value) {
        if (name.starts_with("switch.drop.")) out += value;
      });
    }
    router.counters().visit([&](std::string_view name, std::uint64_t value) {
      if (name.starts_with("router.drop.")) out += value;
    });
    return in == out;
  }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  InProcessUnderlay& at_r3 = hub.add_endpoint();  // the other end of the cable
  std::array<InProcessUnderlay*, 4> carriers{};
  Switch a{plan_in(topology_a(), 1), random}, b;
  std::array<Switch*, 2> both{&a, &b};
  Router router{both};
};

// Plain ports at h, u and r3, which write any cell.
struct PlainWorld : RouterWorld {
  explicit PlainWorld(const InProcessConfig& config = {},
                      RoutingKind routing_of_b = RoutingKind::kShortest)
      : RouterWorld(config, routing_of_b) {
    h.port.connect(carriers[1]->address(), clock.now());
    u.port.connect(carriers[2]->address(), clock.now());
    run(1s);
    EXPECT_TRUE(h.link().up() && u.link().up() && r3.link().up());
  }
  static PortConfig config_of_r3() {
    PortConfig config = link_world::config_of(0x203, 1003, true);
    config.number = 1;
    config.lids = [](const PeerAddress&) { return LinkLids{Lid(3), Lid(1)}; };
    return config;
  }
  bool iterate() {
    bool made_progress = step();
    for (link_world::End* end : {&h, &u, &r3}) made_progress |= end->step(clock.now());
    return made_progress;
  }
  void settle() {
    while (iterate()) {
    }
  }
  void run(base::Duration time) {
    link_world::run_for(clock, time, [this] { return iterate(); });
  }
  void write(link_world::End& from, const Cell& cell) {
    ASSERT_TRUE(link_world::write(from.link(), cell));
    from.port.flush(clock.now());
    settle();
  }
  link_world::End h{hub.add_endpoint(), link_world::config_of(0x201, 1001)};
  link_world::End u{hub.add_endpoint(), link_world::config_of(0x202, 1002)};
  link_world::End r3{at_r3, config_of_r3()};
};

// A cell of h for u, which `change` may make another one.
template <class Change>
Cell global_with(Change&& change, std::size_t payload_bytes = 64, unsigned seed = 0) {
  Gnh gnh = gnh_between(kH, kU, 5, static_cast<std::uint16_t>(payload_bytes));
  return cell_with(Lid(11), Lid(1), payload_bytes, seed, [&](CellHead& head) {
    head.header.sl = 5;
    head.gnh = &gnh;
    change(head, gnh);
  });
}
// Makes it a Raw cell, whose GNH is that of a UDP datagram.
inline void as_datagram(CellHead& head, Gnh& gnh) {
  head.header.op = Op::kRaw;
  head.header.service = Service::kRaw;
  head.header.pos = Pos::kOnly;
  head.header.dqpn = Qpn();
  head.header.flags = 0;
  gnh.traffic_class = 0xB8;
  gnh.flow_label = 0x12345;
  gnh.next_header = 17;
}
inline Cell global_cell(std::size_t payload_bytes = 64, unsigned seed = 0) {
  return global_with([](CellHead&, Gnh&) {}, payload_bytes, seed);
}

}  // namespace splitnic::fabric::router_world
