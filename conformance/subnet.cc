#include "conformance/subnet.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::Lid;
using fabric::Smp;
using fabric::SmpAttribute;
using fabric::SmpMethod;
using fabric::SmpTable;
using State = PlayedPort::State;

constexpr base::Duration kSlice = 1ms;     // at one end, while all of them wait
constexpr base::Duration kTakesOver = 5s;  // P-SUBN-5: 2 s of silence, a sweep, and time to set
constexpr std::size_t kReservedAt = 7;     // of an SMP
constexpr std::byte kReserved{0x7F};       // the other bit is C
constexpr std::size_t kAskedMax = 20'000;  // more are a flood
constexpr std::uint64_t kEui64 = 0x0200'0000'0000'0E00;
constexpr std::string_view kNode;

PlayedSwitch switch_of(std::string_view name, Lid lid, std::vector<PlayedPort> ports) {
  PlayedSwitch out;
  out.name = name;
  out.lid = lid;
  out.eui64 = fabric::Eui64(kEui64 + lid.value);
  out.ports = std::move(ports);
  return out;
}

PlayedPort port_of(std::uint8_t number, std::string_view peer, std::uint8_t peer_port, Lid lid) {
  return {.number = number,
          .peer = std::string(peer),
          .peer_port = peer_port,
          .lid = lid,
          .eui64 = fabric::Eui64(kEui64 + lid.value)};
}

std::map<std::string, PlayedSwitch> whole_subnet() {
  const auto number = [](std::size_t of) { return static_cast<std::uint8_t>(of); };
  std::map<std::string, PlayedSwitch> all;
  all.emplace("east",
              switch_of("east", kEastLid,
                        {port_of(1, kManagerName, number(kEastPort), kManagerLid),
                         port_of(2, "west", 2, kWestLid), port_of(3, "far", 1, kFarSwitchLid),
                         port_of(4, kNode, 0, kEastNodeLid)}));
  all.emplace("west",
              switch_of("west", kWestLid,
                        {port_of(1, kManagerName, number(kWestPort), kManagerLid),
                         port_of(2, "east", 2, kEastLid), port_of(3, "far", 2, kFarSwitchLid),
                         port_of(4, kNode, 0, kWestNodeLid)}));
  all.emplace("far", switch_of("far", kFarSwitchLid,
                               {port_of(1, "east", 3, kEastLid), port_of(2, "west", 3, kWestLid),
                                port_of(3, kNode, 0, kFarNodeLid)}));
  return all;
}

}  // namespace

Subnet::Subnet(const std::vector<Node*>& ends) : ends_(ends), switches_(whole_subnet()) {
  CHECK(ends_.size() == kManagerPorts);
  for (std::size_t port = 1; port <= ends_.size(); ++port) {
    end(port).set_on_smp([this, port](base::Bytes smp) { on_smp(port, smp); });
  }
}

bool Subnet::link() {
  return std::ranges::all_of(ends_, [](Node* end) { return end->link(); });
}

bool Subnet::begin() {
  if (!link()) return false;
  const auto is_settled = [this] {
    return std::ranges::all_of(switches_,
                               [](const auto& one) {
                                 return one.second.tables_set > 0 && !one.second.has_held_port();
                               }) &&
           are_tables_right();
  };
  if (!await("tables for all switches that follow from what is up", is_settled, kTakesOver)) {
    return false;
  }
  // Its own table may be the last one.
  if (!await_nothing_held() || !expect_own_table_right()) return false;
  forget();
  return has_begun_ = true;
}

// A manager of low priority replaces itself, and any other takes over from it.
void Subnet::leave() {
  if (!has_managed_) return;
  for (const std::uint8_t priority : std::array<std::uint8_t, 2>{UINT8_MAX, 0}) {
    OwnedSmp last = request(SmpMethod::kSet, SmpAttribute::kManager, {kFarSwitchLid, priority});
    send(end(kEastPort).is_linked() ? "east" : "west", last);
  }
}

bool Subnet::expect(bool is_met, std::string_view expected) {
  if (!is_met) {
    const std::string last = asked_.empty() ? "no request"
                                            : std::to_string(asked_.size()) +
                                                  " requests, the last one to " + asked_.back().at;
    outcome().miss(std::string(expected), last);
  }
  return is_good();
}

bool Subnet::wait_for(const std::function<bool()>& holds, base::Duration at_most) {
  for (const base::Time until = now() + at_most; is_good();) {
    if (holds()) return true;
    if (now() >= until) break;
    for (Node* const end : ends_) end->listen(kSlice);
  }
  return false;
}

bool Subnet::await(std::string_view expected, const std::function<bool()>& holds,
                   base::Duration at_least) {
  const bool does = wait_for(holds, std::max(ends_.front()->config().timeout, at_least));
  return is_good() && expect(does, expected);
}

void Subnet::listen(base::Duration span) {
  wait_for([] { return false; }, span);
}

std::size_t Subnet::count(const Is& is) const {
  return static_cast<std::size_t>(std::ranges::count_if(asked_, is));
}

const Asked* Subnet::find(const Is& is) const {
  const auto at = std::ranges::find_if(asked_, is);
  return at == asked_.end() ? nullptr : &*at;
}

// SMPs.

void Subnet::on_smp(std::size_t port, base::Bytes bytes) {
  Smp smp;
  const fabric::SmpError error = fabric::parse_smp(bytes, smp);
  if (error != fabric::SmpError::kNone) {
    return outcome().fail("SMPs that are valid",
                          "one that is not: " + std::string(fabric::name(error)));
  }
  if ((bytes[kReservedAt] & kReserved) != std::byte{0}) {
    return outcome().fail("reserved bits of 0 in SMPs", "others");
  }
  if (smp.hop == 0) return outcome().fail("SMPs with a hop of 1 at least", "hop 0");
  if (smp.hop == 1 && smp.is_cut_off) {
    return outcome().fail("no C of a switch that is no router", "C");
  }
  if (smp.route.ports.at(smp.hop - 1U) != port) {
    return outcome().fail("the port that it leaves by in the route of an SMP", "another port");
  }
  if (port == kNodePort) return take_at_node(smp);
  deliver(at(port == kEastPort ? "east" : "west"), 1, smp);
}

// [P-SUBN-4]
void Subnet::deliver(PlayedSwitch& to, std::uint8_t in_port, Smp smp) {
  smp.route.ports.at(smp.hop - 1U) = in_port;
  if (smp.hop < smp.route.hops) {
    const std::uint8_t next = smp.route.ports.at(smp.hop);
    ++smp.hop;
    return send_by(to, next, smp);
  }
  if (smp.method == SmpMethod::kGet || smp.method == SmpMethod::kSet) return take_request(to, smp);
  if (taken_.size() < kAskedMax) taken_.push_back({to.name, OwnedSmp(smp), now()});
}

void Subnet::send_by(PlayedSwitch& from, std::uint8_t port, const Smp& smp) {
  const PlayedPort* const by = from.find(port);
  if (by == nullptr) {
    return outcome().fail("SMPs by ports that are in the file",
                          "one by port " + std::to_string(port) + " of " + from.name);
  }
  if (by->peer_port == 0) return take_at_node(smp);
  if (!by->is_up()) return;
  if (by->peer != kManagerName) return deliver(at(by->peer), by->peer_port, smp);
  Node& out = end(by->peer_port);
  ByteVector bytes(smp.bytes());
  fabric::emit_smp(bytes, smp);
  if (out.is_linked()) out.send_smp(out.smp_head(), bytes);
}

// The nodes of the suite have no agent, and their LIDs are in the file [P-SUBN-23] [P-SUBN-26].
void Subnet::take_at_node(const Smp& smp) {
  const bool may_be = smp.method == SmpMethod::kGet && smp.attribute == SmpAttribute::kNode &&
                      smp.hop == smp.route.hops && (!manager_ || smp.manager == *manager_);
  if (!may_be) outcome().fail("GET NODE of the manager in force at a node", "another SMP");
}

void Subnet::take_request(PlayedSwitch& to, const Smp& smp) {
  Asked asked{to.name, OwnedSmp(smp), now()};
  const bool is_of_target = smp.manager.lid == kManagerLid;
  if (is_of_target && !check_request(to, asked)) return;
  if (!to.replies) {
    asked_.push_back(std::move(asked));
    return;
  }
  OwnedSmp reply = to.serve(smp);
  const unsigned copies = on_reply ? on_reply(asked, reply) : 1;
  asked_.push_back(std::move(asked));
  if (asked_.size() >= kAskedMax) outcome().fail("a target that does not flood", "requests");
  for (unsigned i = 0; i < copies; ++i) send(to.name, reply);
}

// [P-SUBN-11]
bool Subnet::check_request(const PlayedSwitch& to, const Asked& asked) {
  const fabric::ManagerId id = asked.smp.smp.manager;
  if (!manager_) manager_ = id;
  if (id != *manager_) {
    outcome().fail("requests of a manager with one priority", "another one");
    return false;
  }
  if (!asked.is_first() && !asked.is_node() && !asked.is_load() && !asked.is_read() &&
      !asked.sets_table()) {
    outcome().fail("requests of a manager that this page has", "another one");
    return false;
  }
  return !asked.sets_table() || check_part(to, asked.smp.table());
}

// [P-SUBN-6] [P-SUBN-16]
bool Subnet::check_part(const PlayedSwitch& to, const SmpTable& part) {
  const bool are_ports_known = std::ranges::all_of(part.ports, [&](std::byte port) {
    const auto number = std::to_integer<std::uint8_t>(port);
    return number == 0 || to.find(number) != nullptr;
  });
  if (!are_ports_known) {
    outcome().fail("tables with ports of the topology file", "another port");
  } else if (has_begun_ && part.stage == SmpTable::Stage::kSet &&
             part.changes != to.reported_changes) {
    outcome().fail("stage set with the changes of NODE", "others");
  }
  return is_good();
}

void Subnet::send(const std::string& from, const OwnedSmp& smp) {
  OwnedSmp out = smp;
  out.smp.hop = 1;
  if (out.smp.route.hops != 0) send_by(at(from), out.smp.route.ports[0], out.view());
}

OwnedSmp Subnet::request(SmpMethod method, SmpAttribute attribute, fabric::ManagerId manager) {
  OwnedSmp out;
  out.smp.method = method;
  out.smp.attribute = attribute;
  out.smp.manager = manager;
  out.smp.route.hops = 1;
  out.smp.route.ports[0] = 1;
  return out;
}

std::optional<OwnedSmp> Subnet::ask(OwnedSmp request, std::string_view expected,
                                    const std::string& from) {
  request.smp.transaction = ends_.front()->random().next();
  send(from, request);
  const auto is_reply = [&](const Taken& one) {
    return one.at == from && one.is_reply_to(request.smp.transaction);
  };
  const bool has_come = await(expected, [&] { return std::ranges::any_of(taken_, is_reply); });
  if (!has_come) return std::nullopt;
  const auto at = std::ranges::find_if(taken_, is_reply);
  OwnedSmp reply = at->smp;
  taken_.erase(at);
  has_managed_ |= request.smp.attribute == SmpAttribute::kManager &&
                  reply.smp.status == fabric::SmpStatus::kDone;
  if (!expect(reply.smp.attribute == request.smp.attribute, "a reply about what was asked for")) {
    return std::nullopt;
  }
  return reply;
}

std::optional<fabric::SmpNode> Subnet::own_node(fabric::ManagerId by) {
  const auto reply = ask(request(SmpMethod::kGet, SmpAttribute::kNode, by), "a reply to GET NODE");
  fabric::SmpNode node;
  if (!reply || !expect(reply->smp.status == fabric::SmpStatus::kDone &&
                            fabric::parse_smp_node(reply->body, node) == fabric::SmpError::kNone,
                        "a body of NODE")) {
    return std::nullopt;
  }
  return node;
}

void Subnet::send_trap(const std::string& from) {
  const PlayedSwitch& of = at(from);
  OwnedSmp trap;
  trap.smp.method = SmpMethod::kTrap;
  trap.smp.manager = of.manager;
  trap.smp.transaction = of.changes;
  trap.smp.route = of.to_manager;
  send(from, trap);
}

void Subnet::set_cable(const std::string& of, std::uint8_t port, State state) {
  const PlayedPort by = *at(of).find(port);
  at(of).change(port, state);
  at(by.peer).change(by.peer_port, state);
  send_trap(of);
  send_trap(by.peer);
}

}  // namespace splitnic::conformance
