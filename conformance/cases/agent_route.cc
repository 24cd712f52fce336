// The agent of the tested switch: replies and the directed route. docs/protocol/subnet.md#smp
#include <algorithm>

#include "conformance/case.h"
#include "conformance/cases/subnet_parts.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::SmpAttribute;
using fabric::SmpMethod;
using fabric::SmpNode;
using fabric::SmpStatus;
using State = SmpNode::PortState;

constexpr base::Duration kTakesOver = 4s;  // after 2 s of silence
constexpr base::Duration kLongWay = 5s;    // of 64 links, over a path with a delay

const SmpNode::PortInfo* port_of(const SmpNode& node, std::size_t number) {
  const auto at = std::ranges::find(node.used_ports(), number, &SmpNode::PortInfo::number);
  return at == node.used_ports().end() ? nullptr : &*at;
}

bool expect_port(Subnet& s, const SmpNode& node, std::size_t number, State state, fabric::Lid lid) {
  const SmpNode::PortInfo* const port = port_of(node, number);
  return s.expect(port != nullptr, "port " + std::to_string(number)) &&
         s.expect(port->state == state, "the state of port " + std::to_string(number)) &&
         s.expect(port->lid == lid, "the LID at port " + std::to_string(number));
}

void add_node(SubnetGroup& group) {
  group.add("node", "P-SUBN-1", "NODE has LID, name and ports with their peers.", [](Subnet& s) {
    if (!s.begin()) return;
    const auto node = node_of_target(s);
    if (!node) return;
    s.expect(node->lid == kManagerLid && node->name == kManagerName,
             "the LID and name of the switch");
    s.expect(node->port_count == kManagerPorts, "three ports");
    expect_port(s, *node, kEastPort, State::kUp, kEastLid);
    expect_port(s, *node, kWestPort, State::kUp, kWestLid);
    expect_port(s, *node, kNodePort, State::kUp, kNearNodeLid);
  });
  group.add("node_peers", "P-SUBN-1", "NODE has the EUI-64 of each peer.", [](Subnet& s) {
    if (!s.begin()) return;
    const auto node = node_of_target(s);
    if (!node) return;
    for (const std::size_t port : {kEastPort, kWestPort, kNodePort}) {
      const SmpNode::PortInfo* const info = port_of(*node, port);
      s.expect(info != nullptr && info->eui64 == s.end(port).config().eui64,
               "the EUI-64 of the peer");
    }
  });
  group.add("node_check", "P-SUBN-1", "The check of NODE is that of the table in force.",
            [](Subnet& s) {
              if (s.begin()) s.expect_check_of_node();
            });
  group.add("node_changes", "P-SUBN-1",
            "The changes of NODE count links of cables, and not those of nodes.", [](Subnet& s) {
              if (!s.begin()) return;
              const auto first = node_of_target(s);
              if (!first) return;
              s.node().send(s.node().init(fabric::InitStep::kBye));
              s.listen(20ms);
              const auto second = node_of_target(s);
              if (!second) return;
              s.expect(second->changes == first->changes, "no change by a node");
              expect_port(s, *second, kNodePort, State::kDown, kNearNodeLid);
              drop_cable(s, kWestPort);
              s.listen(20ms);
              const auto third = node_of_target(s);
              if (!third) return;
              s.expect(third->changes == first->changes + 1, "one change by a cable");
              expect_port(s, *third, kWestPort, State::kDown, kWestLid);
            });
  group.add("unserved", "P-SUBN-2", "What is not served gets status bad.", [](Subnet& s) {
    if (!s.begin()) return;
    const auto manager = *s.manager();
    expect_status(s,
                  s.ask(Subnet::request(SmpMethod::kSet, SmpAttribute::kNode, manager),
                        "a reply to SET NODE"),
                  SmpStatus::kBad, manager);
    expect_status(s,
                  s.ask(Subnet::request(SmpMethod::kGet, SmpAttribute::kManager, {kEastLid, 0}),
                        "a reply to GET MANAGER"),
                  SmpStatus::kBad, manager);
  });
}

// The reply comes to this switch and to no other one, by the way that its request took: the ports
// by which it came in, so those of the request in reverse. Nothing if it does not.
std::optional<OwnedSmp> await_reply(Subnet& s, const OwnedSmp& request, std::string_view at,
                                    const std::vector<std::uint8_t>& route,
                                    base::Duration at_least = {}) {
  const auto is_reply = [&](const Taken& one) { return one.is_reply_to(request.smp.transaction); };
  const auto has_come = [&] { return std::ranges::any_of(s.taken(), is_reply); };
  if (!s.await("a reply at " + std::string(at), has_come, at_least)) return std::nullopt;
  s.listen(20ms);
  s.expect(std::ranges::count_if(s.taken(), is_reply) == 1, "one reply");
  const Taken& reply = *std::ranges::find_if(s.taken(), is_reply);
  s.expect(reply.at == at, "the reply at the switch that asked");
  s.expect(
      std::ranges::equal(reply.smp.smp.route.used(), route) && reply.smp.smp.hop == route.size(),
      "a reply whose route is that of its request");
  return s.is_good() ? std::optional(reply.smp) : std::nullopt;
}

// The same, of NODE of the target.
void expect_node(Subnet& s, const OwnedSmp& request, std::string_view at,
                 const std::vector<std::uint8_t>& route) {
  const auto reply = await_reply(s, request, at, route);
  if (!reply) return;
  SmpNode node;
  s.expect(reply->smp.status == SmpStatus::kDone && reply->smp.attribute == SmpAttribute::kNode &&
               fabric::parse_smp_node(reply->body, node) == fabric::SmpError::kNone &&
               node.lid == kManagerLid,
           "NODE of the switch");
}

// With a transaction that nothing else has.
OwnedSmp fresh(Subnet& s, OwnedSmp request, const std::vector<std::uint8_t>& route) {
  request.smp.transaction = s.node().random().next();
  request.smp.route.hops = static_cast<std::uint8_t>(route.size());
  std::ranges::copy(route, request.smp.route.ports.begin());
  return request;
}

// A neighbour of the target, and the port of the target that leads there.
struct Neighbour {
  std::string name;
  std::uint8_t port;
  fabric::Lid lid;
};
const Neighbour kEast{"east", kEastPort, kEastLid};
const Neighbour kWest{"west", kWestPort, kWestLid};

OwnedSmp get_node(const Neighbour& by) {
  return Subnet::request(SmpMethod::kGet, SmpAttribute::kNode, {by.lid, 0});
}

// Refused by a switch that obeys the target.
OwnedSmp set_table_of(const Neighbour& by) {
  OwnedSmp set = table_part(PlayedSwitch::Table(PlayedSwitch::kLids, std::byte{1}), 0,
                            {.stage = fabric::SmpTable::Stage::kClear, .parts = 1});
  set.smp.manager = {by.lid, 0};
  return set;
}

// Served by the switch that it arrives at: a better manager.
OwnedSmp set_manager_of(const Neighbour&) {
  return Subnet::request(SmpMethod::kSet, SmpAttribute::kManager, {kFarSwitchLid, UINT8_MAX});
}

// Its REPLY has a whole block of ports.
OwnedSmp get_table_of(const Neighbour& by) {
  OwnedSmp get = Subnet::request(SmpMethod::kGet, SmpAttribute::kTable, {by.lid, 0});
  const fabric::SmpTable block;
  get.body.resize(block.bytes());
  fabric::emit_smp_table(get.body, block);
  return get;
}

// An SMP that passes by does not change whom the switch obeys.
void expect_manager_as_before(Subnet& s) {
  const auto reply = s.ask(get_node(kEast), "a reply that names the manager");
  if (reply) s.expect(reply->smp.manager == s.manager(), "the manager as before");
}

// All is as it was sent, but for what each switch on the way changes.
bool is_as_sent(const OwnedSmp& sent, const OwnedSmp& come) {
  OwnedSmp same = sent;
  same.smp.hop = come.smp.hop;
  same.smp.route = come.smp.route;
  return same.bytes() == come.bytes();
}

// A request goes from one neighbour to the other one, and its REPLY back, of NODE with C. The
// sender writes 1 as its own port: only from west is that not the port it comes in by.
void add_passed(SubnetGroup& group, const std::string& name, const Neighbour& from,
                const Neighbour& to, OwnedSmp (*request_of)(const Neighbour& by)) {
  group.add(name, "P-SUBN-4",
            "An SMP of another switch is passed on by its route, and its REPLY too.",
            [from, to, request_of](Subnet& s) {
              if (!s.begin()) return;
              const OwnedSmp request = fresh(s, request_of(from), {1, to.port});
              std::optional<Asked> arrived;
              OwnedSmp replied;
              s.on_reply = [&](const Asked& one, OwnedSmp& reply) -> unsigned {
                if (one.smp.smp.transaction != request.smp.transaction) return 1;
                arrived = one;
                reply.smp.is_cut_off = one.is_node();
                replied = reply;
                return 1;
              };
              s.send(from.name, request);
              if (!s.await("it at the other cable", [&] { return arrived.has_value(); })) return;
              const fabric::Smp& smp = arrived->smp.smp;
              s.expect(arrived->at == to.name, "it at the switch that its route leads to");
              s.expect(smp.hop == 2 && smp.route.hops == 2, "one hop more");
              s.expect(smp.route.ports[0] == from.port, "the port that it came in by");
              s.expect(is_as_sent(request, arrived->smp), "the rest of the request as it was");
              const auto reply = await_reply(s, request, from.name, {to.port, 1});
              if (!reply) return;
              s.expect(is_as_sent(replied, *reply), "the rest of the REPLY as it was");
              expect_manager_as_before(s);
            });
}

void add_passed_trap(SubnetGroup& group) {
  group.add("passes_on_a_trap", "P-SUBN-4", "TRAP of another switch is passed on by its route.",
            [](Subnet& s) {
              if (!s.begin()) return;
              OwnedSmp trap = fresh(s, get_node(kWest), {1, kWestPort});
              trap.smp.method = SmpMethod::kTrap;
              s.send("east", trap);
              const auto is_it = [&](const Taken& one) {
                return one.is_trap() && one.smp.smp.transaction == trap.smp.transaction;
              };
              const auto has_come = [&] { return std::ranges::any_of(s.taken(), is_it); };
              if (!s.await("it at the other cable", has_come)) return;
              s.listen(20ms);
              s.expect(std::ranges::count_if(s.taken(), is_it) == 1, "one TRAP");
              const Taken& come = *std::ranges::find_if(s.taken(), is_it);
              s.expect(come.at == "west", "it at the switch that its route leads to");
              s.expect(come.smp.smp.hop == 2 && come.smp.smp.route.hops == 2, "one hop more");
              s.expect(come.smp.smp.route.ports[0] == kEastPort, "the port that it came in by");
              s.expect(is_as_sent(trap, come.smp), "the rest of TRAP as it was");
            });
}

// The suite is the manager of the target; what it sends to another switch passes by, and has no
// effect.
void add_without_effect(SubnetGroup& group) {
  group.add(
      "passing_table", "P-SUBN-4", "SET TABLE of its manager for another switch is not set.",
      [](Subnet& s) {
        if (!s.begin() || !obtain(s)) return;
        const auto before = s.own_table();
        if (!before) return;
        PlayedSwitch::Table table(PlayedSwitch::kLids);
        table.at(kNearNodeLid.value) = std::byte{kNodePort};
        s.send(
            "east",
            fresh(s, table_part(table, 0, {.stage = fabric::SmpTable::Stage::kClear, .parts = 1}),
                  {1, kWestPort}));
        s.listen(50ms);
        s.expect(s.own_table() == before, "the table as it was");
      });
  group
      .add("passing_get", "P-SUBN-4", "GET NODE of its manager for another switch ends no TRAP.",
           [](Subnet& s) {
             if (!s.begin() || !obtain(s)) return;
             drop_cable(s, kWestPort);
             s.listen(10ms);
             if (!s.end(kWestPort).link()) return;
             const auto has_trap = [&] { return std::ranges::any_of(s.taken(), &Taken::is_trap); };
             s.forget_taken();
             if (!s.await("TRAP of the cable that is up again", has_trap)) return;
             OwnedSmp get =
                 Subnet::request(SmpMethod::kGet, SmpAttribute::kNode, *better_than_target(s));
             s.send("east", fresh(s, get, {1, kWestPort}));
             s.listen(20ms);
             s.forget_taken();
             s.await("TRAP behind what has passed", has_trap);
           })
      .level = Level::kShould;
  group
      .add("passing_way", "P-SUBN-4", "SET MANAGER for another switch is not the way of TRAP.",
           [](Subnet& s) {
             if (!s.begin() || !obtain(s)) return;
             s.send("west", fresh(s, set_manager_of(kWest), {1, kEastPort}));
             s.listen(50ms);
             s.forget_taken();
             drop_cable(s, kWestPort);
             const auto has_trap = [&] { return std::ranges::any_of(s.taken(), &Taken::is_trap); };
             if (!s.await("TRAP", has_trap)) return;
             s.expect(std::ranges::find_if(s.taken(), &Taken::is_trap)->at == "east",
                      "TRAP by the way back of SET MANAGER");
           })
      .level = Level::kShould;
  group.add("passing_manager", "P-SUBN-4",
            "SET MANAGER for another switch does not keep the switch waiting for its manager.",
            [](Subnet& s) {
              if (!s.begin() || !obtain(s)) return;
              s.listen(20ms);
              s.forget();
              const auto is_back = [](const Asked& one) {
                return one.smp.smp.manager.lid == kManagerLid;
              };
              for (const base::Time until = s.now() + kTakesOver;
                   s.is_good() && s.now() < until && s.find(is_back) == nullptr;) {
                s.send("east", fresh(s, set_manager_of(kEast), {1, kWestPort}));
                s.listen(200ms);
              }
              s.expect(s.find(is_back) != nullptr, "a sweep when its manager is silent");
            });
}

void add_routes(SubnetGroup& group) {
  group.add("reply_route", "P-SUBN-4", "REPLY has the way back, and hop 1 on its first link.",
            [](Subnet& s) {
              if (!s.begin()) return;
              const auto reply = s.ask(
                  Subnet::request(SmpMethod::kGet, SmpAttribute::kNode, {kEastLid, 0}), "a reply");
              if (!reply) return;
              s.expect(reply->smp.route.hops == 1 && reply->smp.hop == 1, "a route of one hop");
            });
  group.add("reply_of_two_links", "P-SUBN-4", "A request over two links is replied to over both.",
            [](Subnet& s) {
              if (!s.begin()) return;
              const OwnedSmp get = fresh(s, get_node({"far", 1, kFarSwitchLid}), {1, 1});
              s.send("far", get);
              expect_node(s, get, "far", {1, 1});
            });
  add_passed(group, "passes_on", kEast, kWest, get_node);
  add_passed(group, "passes_on_to_east", kWest, kEast, get_node);
  add_passed(group, "passes_on_a_table", kEast, kWest, set_table_of);
  add_passed(group, "passes_on_a_block", kEast, kWest, get_table_of);
  add_passed(group, "passes_on_a_manager", kEast, kWest, set_manager_of);
  add_passed_trap(group);
  group.add("replies_to_west", "P-SUBN-4", "REPLY leaves by the port that its request came in by.",
            [](Subnet& s) {
              if (!s.begin()) return;
              const OwnedSmp get = fresh(s, get_node(kWest), {1});
              s.send("west", get);
              expect_node(s, get, "west", {1});
            });
}

// A request leads back to the switch that sends it, and so does its REPLY. `came_in_by` are the
// ports by which the request comes in on its way.
void expect_back(Subnet& s, const std::string& of, const OwnedSmp& request,
                 const std::vector<std::uint8_t>& came_in_by, base::Duration at_least = {}) {
  s.send(of, request);
  const auto is_it = [&](const Asked& one) {
    return one.smp.smp.transaction == request.smp.transaction;
  };
  if (!s.await(
          "it at the end of its route", [&] { return s.find(is_it) != nullptr; }, at_least)) {
    return;
  }
  const Asked& come = *s.find(is_it);
  s.expect(come.at == of, "it at the switch that sent it");
  s.expect(come.smp.smp.hop == came_in_by.size(), "a hop for each link");
  s.expect(std::ranges::equal(come.smp.smp.route.used(), came_in_by),
           "the ports that it came in by as its route");
  s.expect(is_as_sent(request, come.smp), "the rest of the request as it was");
  // The reversed route leads back by the same links: what it comes in by is what the request left
  // by, from its last link to its first one.
  std::vector<std::uint8_t> of_reply(request.smp.route.used().begin(),
                                     request.smp.route.used().end());
  std::ranges::reverse(of_reply);
  const auto reply = await_reply(s, request, of, of_reply, at_least);
  if (reply) s.expect(reply->smp.attribute == request.smp.attribute, "a REPLY about it");
}

// Around by far, east, the target and west, this many times: no two links have the same ports.
void go_around(Subnet& s, std::size_t times) {
  std::vector<std::uint8_t> route, came_in_by;
  for (std::size_t i = 0; i < times; ++i) {
    route.insert(route.end(), {1, 1, kWestPort, 3});
    came_in_by.insert(came_in_by.end(), {3, kEastPort, 1, 2});
  }
  expect_back(s, "far", fresh(s, get_node({"far", 1, kFarSwitchLid}), route), came_in_by, kLongWay);
}

void add_long_routes(SubnetGroup& group) {
  group.add("back_by_the_same_cable", "P-SUBN-4", "A route may lead back by the cable it came by.",
            [](Subnet& s) {
              if (!s.begin()) return;
              expect_back(s, "east", fresh(s, get_node(kEast), {1, kEast.port}), {kEastPort, 1});
            });
  group.add("around", "P-SUBN-4", "A route of four links has each port that the SMP came in by.",
            [](Subnet& s) {
              if (s.begin()) go_around(s, 1);
            });
  group.add("64_hops", "P-SUBN-4", "A route of 64 hops is walked to its end, and back.",
            [](Subnet& s) {
              if (s.begin()) go_around(s, fabric::kSmpHopsMax / 4);
            });
}

}  // namespace

std::vector<Case> agent_route_cases() {
  SubnetGroup group("agent");
  add_node(group);
  add_routes(group);
  add_without_effect(group);
  add_long_routes(group);
  return group.take();
}

}  // namespace splitnic::conformance
