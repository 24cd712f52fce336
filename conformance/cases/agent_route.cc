// The agent of the tested switch: replies, the directed route, traps. docs/protocol/subnet.md#smp
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

constexpr base::Duration kLongWay = 5s;  // of 64 links, over a path with a delay

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

// The west link ends, and comes up again as another process.
void drop_west(Subnet& s) {
  Node& west = s.end(kWestPort);
  west.send(west.init(fabric::InitStep::kBye));
  west.begin_instance(west.config().instance ^ 0x100);
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
              if (!s.begin()) return;
              const auto table = s.own_table();
              const auto node = table ? node_of_target(s) : std::nullopt;
              if (node) s.expect(node->check == PlayedSwitch::check_of(*table), "the check");
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
              drop_west(s);
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
                  s.ask(Subnet::request(SmpMethod::kSet, SmpAttribute::kNode, {kEastLid, 0}),
                        "a reply to SET NODE"),
                  SmpStatus::kBad, manager);
    expect_status(s,
                  s.ask(Subnet::request(SmpMethod::kGet, SmpAttribute::kManager, {kEastLid, 0}),
                        "a reply to GET MANAGER"),
                  SmpStatus::kBad, manager);
  });
}

// The reply comes to this switch and to no other one, by the way that its request took: the ports
// by which it came in, so those of the request in reverse.
void await_reply(Subnet& s, std::uint64_t transaction, std::string_view at,
                 const std::vector<std::uint8_t>& route) {
  const auto is_reply = [&](const Taken& one) { return one.is_reply_to(transaction); };
  const auto has_come = [&] { return std::ranges::any_of(s.taken(), is_reply); };
  if (!s.await("a reply at " + std::string(at), has_come)) return;
  s.listen(20ms);
  s.expect(std::ranges::count_if(s.taken(), is_reply) == 1, "one reply");
  const Taken& reply = *std::ranges::find_if(s.taken(), is_reply);
  s.expect(reply.at == at, "the reply at the switch that asked");
  s.expect(
      std::ranges::equal(reply.smp.smp.route.used(), route) && reply.smp.smp.hop == route.size(),
      "a reply whose route is that of its request");
}

// A neighbour of the target, and the port of the target that leads there.
struct Neighbour {
  std::string name;
  std::size_t port;
  fabric::Lid lid;
};

// The sender writes 1 as its own port: only from west is that not the port it comes in by.
void add_passed(SubnetGroup& group, const std::string& name, const Neighbour& from,
                const Neighbour& to) {
  group.add(name, "P-SUBN-4", "An SMP of another switch is passed on by its route.",
            [from, to](Subnet& s) {
              if (!s.begin()) return;
              OwnedSmp get = Subnet::request(SmpMethod::kGet, SmpAttribute::kNode, {from.lid, 0});
              get.smp.transaction = 815;
              get.smp.route.hops = 2;
              get.smp.route.ports[0] = 1;
              get.smp.route.ports[1] = static_cast<std::uint8_t>(to.port);
              s.send(from.name, get);
              const auto is_it = [&to](const Asked& one) {
                return one.at == to.name && one.smp.smp.transaction == 815;
              };
              if (!s.await("it at the other cable", [&] { return s.find(is_it) != nullptr; }))
                return;
              const fabric::Smp& smp = s.find(is_it)->smp.smp;
              s.expect(smp.hop == 2, "one hop more");
              s.expect(smp.route.ports[0] == from.port, "the port that it came in by");
              s.expect(smp.manager == get.smp.manager, "the rest as it was");
              await_reply(s, 815, from.name, {static_cast<std::uint8_t>(to.port), 1});
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
  group.add(
      "reply_of_two_links", "P-SUBN-4", "A request over two links is replied to over both.",
      [](Subnet& s) {
        if (!s.begin()) return;
        OwnedSmp get = Subnet::request(SmpMethod::kGet, SmpAttribute::kNode, {kFarSwitchLid, 0});
        get.smp.transaction = 4711;
        get.smp.route.hops = 2;
        get.smp.route.ports[0] = 1;
        get.smp.route.ports[1] = 1;
        s.send("far", get);
        await_reply(s, 4711, "far", {1, 1});
      });
  add_passed(group, "passes_on", {"east", kEastPort, kEastLid}, {"west", kWestPort, kWestLid});
  add_passed(group, "passes_on_to_east", {"west", kWestPort, kWestLid},
             {"east", kEastPort, kEastLid});
  group.add("replies_to_west", "P-SUBN-4", "REPLY leaves by the port that its request came in by.",
            [](Subnet& s) {
              if (!s.begin()) return;
              OwnedSmp get = Subnet::request(SmpMethod::kGet, SmpAttribute::kNode, {kWestLid, 0});
              get.smp.transaction = 818;
              s.send("west", get);
              await_reply(s, 818, "west", {1});
            });
}

void add_long_routes(SubnetGroup& group) {
  group.add("back_by_the_same_cable", "P-SUBN-4", "A route may lead back by the cable it came by.",
            [](Subnet& s) {
              if (!s.begin()) return;
              OwnedSmp get = Subnet::request(SmpMethod::kGet, SmpAttribute::kNode, {kEastLid, 0});
              get.smp.transaction = 816;
              get.smp.route.hops = 2;
              get.smp.route.ports[0] = 1;
              get.smp.route.ports[1] = static_cast<std::uint8_t>(kEastPort);
              s.send("east", get);
              s.await("it at the same cable", [&] {
                return s.find([](const Asked& one) {
                  return one.at == "east" && one.smp.smp.transaction == 816;
                }) != nullptr;
              });
            });
  group.add("64_hops", "P-SUBN-4", "A route of 64 hops is walked to its end.", [](Subnet& s) {
    if (!s.begin()) return;
    OwnedSmp get = Subnet::request(SmpMethod::kGet, SmpAttribute::kNode, {kEastLid, 0});
    get.smp.transaction = 817;
    get.smp.route.hops = 64;
    // To and fro on the cable: the last link leads to east.
    get.smp.route.ports.fill(1);
    s.send("east", get);
    const auto has_come = [&] {
      return s.find([](const Asked& one) { return one.smp.smp.transaction == 817; }) != nullptr;
    };
    s.await("the request behind 64 links, at the switch that sent it", has_come, kLongWay);
  });
}

void add_traps(SubnetGroup& group) {
  const auto is_trap = &Taken::is_trap;
  group
      .add("trap", "P-SUBN-10", "A link of a cable that goes down causes TRAP, with the changes.",
           [is_trap](Subnet& s) {
             if (!s.begin() || !obtain(s)) return;
             const auto before = node_of_target(s);
             if (!before) return;
             s.forget_taken();
             drop_west(s);
             if (!s.await("TRAP", [&] { return std::ranges::any_of(s.taken(), is_trap); })) return;
             const Taken& taken = *std::ranges::find_if(s.taken(), is_trap);
             const fabric::Smp& trap = taken.smp.smp;
             s.expect(taken.at == "east", "TRAP by the way back of SET MANAGER");
             s.expect(trap.transaction == before->changes + 1U, "the changes as its transaction");
             s.expect(trap.manager == better_than_target(s), "the manager that it obeys");
           })
      .level = Level::kShould;
  group
      .add("trap_repeats", "P-SUBN-10", "TRAP repeats every 100 ms until GET NODE comes.",
           [is_trap](Subnet& s) {
             if (!s.begin() || !obtain(s)) return;
             s.forget_taken();
             drop_west(s);
             if (!s.await("three TRAPs",
                          [&] { return std::ranges::count_if(s.taken(), is_trap) >= 3; })) {
               return;
             }
             if (!node_of_target(s)) return;
             s.listen(10ms);
             s.forget_taken();
             s.listen(300ms);
             s.expect(std::ranges::count_if(s.taken(), is_trap) == 0, "no TRAP behind GET NODE");
           })
      .level = Level::kShould;
  group
      .add("trap_ends", "P-SUBN-10", "TRAP is sent 10 times at most.",
           [is_trap](Subnet& s) {
             if (!s.begin() || !obtain(s)) return;
             s.forget_taken();
             drop_west(s);
             s.listen(1500ms);
             const auto traps = std::ranges::count_if(s.taken(), is_trap);
             s.expect(traps >= 2 && traps <= 10, "2 to 10 TRAPs");
           })
      .level = Level::kShould;
  group
      .add("trap_not_of_nodes", "P-SUBN-10", "A node that leaves causes no TRAP.",
           [is_trap](Subnet& s) {
             if (!s.begin() || !obtain(s) || !node_of_target(s)) return;
             s.forget_taken();
             s.node().send(s.node().init(fabric::InitStep::kBye));
             s.listen(250ms);
             s.expect(std::ranges::count_if(s.taken(), is_trap) == 0, "no TRAP");
           })
      .level = Level::kShould;
}

}  // namespace

std::vector<Case> agent_route_cases() {
  SubnetGroup group("agent");
  add_node(group);
  add_routes(group);
  add_long_routes(group);
  add_traps(group);
  return group.take();
}

}  // namespace splitnic::conformance
