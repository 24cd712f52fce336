// The forwarding tables that follow from what is up. The suite finds them by its own walk, by
// distances only. docs/protocol/subnet.md
#include <algorithm>
#include <array>
#include <utility>

#include "conformance/subnet.h"

namespace splitnic::conformance {
namespace {

using fabric::Lid;

constexpr base::Duration kSettles = std::chrono::seconds(3);
constexpr base::Duration kLooksEvery = std::chrono::milliseconds(50);

// The place of each LID of the topology: its switch, and the port there; 0: the switch itself.
struct Home {
  Lid lid;
  std::string_view of;
  std::uint8_t port;
};
constexpr std::array kHomes{
    Home{kManagerLid, kManagerName, 0}, Home{kNearNodeLid, kManagerName, kNodePort},
    Home{kEastLid, "east", 0},          Home{kEastNodeLid, "east", 4},
    Home{kWestLid, "west", 0},          Home{kWestNodeLid, "west", 4},
    Home{kFarSwitchLid, "far", 0},      Home{kFarNodeLid, "far", 3}};

const Home* home_of(Lid lid) {
  const auto at = std::ranges::find(kHomes, lid, &Home::lid);
  return at == kHomes.end() ? nullptr : &*at;
}

}  // namespace

bool Subnet::is_used(const std::string& name) const {
  const auto at = switches_.find(name);
  return at == switches_.end() || (at->second.replies && at->second.is_right);
}

std::vector<PlayedPort> Subnet::own_ports() const {
  std::vector<PlayedPort> ports;
  for (const auto& [name, one] : switches_) {
    for (const PlayedPort& port : one.ports) {
      if (port.peer != kManagerName || !ends_[port.peer_port - 1U]->is_linked()) continue;
      ports.push_back({.number = port.peer_port, .peer = name, .peer_port = port.number});
    }
  }
  return ports;
}

std::vector<std::pair<std::uint8_t, std::string>> Subnet::neighbours(const std::string& of) const {
  std::vector<std::pair<std::uint8_t, std::string>> out;
  if (!is_used(of)) return out;
  const bool is_target = of == kManagerName;
  const std::vector<PlayedPort> ports = is_target ? own_ports() : switches_.at(of).ports;
  for (const PlayedPort& port : ports) {
    if (port.peer_port == 0 || !port.is_up() || !port.is_right || !is_used(port.peer)) continue;
    if (port.peer == kManagerName) {
      if (ends_[port.peer_port - 1U]->is_linked()) out.emplace_back(port.number, port.peer);
      continue;
    }
    const PlayedPort* const back = switches_.at(port.peer).find(port.peer_port);
    if (back->is_up() && back->is_right) out.emplace_back(port.number, port.peer);
  }
  return out;
}

Subnet::Distances Subnet::distances_to(const std::string& to) const {
  Distances found{{to, 0}};
  std::vector<std::string> reached{to};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::string at = reached[i];
    for (const auto& [port, peer] : neighbours(at)) {
      if (found.emplace(peer, found.at(at) + 1).second) reached.push_back(peer);
    }
  }
  return found;
}

bool Subnet::is_entry_right(const std::string& of, std::uint8_t port, Lid lid) {
  const Home* const home = home_of(lid);
  if (home == nullptr) return port == 0;
  const std::string to(home->of);
  if (to == of) return port == home->port;
  const Distances distances = distances_to(to);
  if (!is_used(to) || !distances.contains(of)) return port == 0;
  return std::ranges::any_of(neighbours(of), [&](const auto& next) {
    return next.first == port && distances.at(next.second) + 1 == distances.at(of);
  });
}

bool Subnet::are_tables_right() {
  const Distances reached = distances_to(std::string(kManagerName));
  return std::ranges::all_of(switches_, [&](const auto& one) {
    const std::string& name = one.first;
    const PlayedSwitch& its = one.second;
    if (!reached.contains(name)) return true;
    for (const Home& home : kHomes) {
      if (!is_entry_right(name, its.port_of(home.lid), home.lid)) return false;
    }
    const auto entries = static_cast<std::size_t>(PlayedSwitch::kLids) -
                         static_cast<std::size_t>(std::ranges::count(its.table, std::byte{0}));
    const auto of_file = static_cast<std::size_t>(std::ranges::count_if(
        kHomes, [&](const Home& home) { return its.port_of(home.lid) != 0; }));
    return entries == of_file;
  });
}

std::optional<Subnet::OwnTable> Subnet::read_own_table() {
  OwnTable out;
  std::optional<std::uint32_t> check;
  for (const std::uint16_t block : std::array<std::uint16_t, 2>{0, 1}) {
    OwnedSmp get = request(fabric::SmpMethod::kGet, fabric::SmpAttribute::kTable, {kEastLid, 0});
    fabric::SmpTable part;
    part.block = block;
    get.body.resize(part.bytes());
    fabric::emit_smp_table(get.body, part);
    const auto reply = ask(get, "a block of the table in force");
    if (!reply) return std::nullopt;
    const fabric::SmpTable got = reply->table();
    const bool is_good = reply->smp.status == fabric::SmpStatus::kDone && got.block == block &&
                         got.ports.size() == fabric::kSmpBlockLids;
    if (!expect(is_good, "the block that was asked for")) return std::nullopt;
    std::ranges::copy(
        got.ports, out.table.begin() + static_cast<std::ptrdiff_t>(block * fabric::kSmpBlockLids));
    out.is_whole &= !check || *check == got.check;
    check = got.check;
  }
  out.is_whole &= *check == PlayedSwitch::check_of(out.table);
  return out;
}

// Another table may come into force between the two blocks, or between the table and NODE.
std::optional<PlayedSwitch::Table> Subnet::own_table() {
  for (const base::Time until = now() + kSettles;; listen(kLooksEvery)) {
    auto read = read_own_table();
    if (!read) return std::nullopt;
    if (read->is_whole) return std::move(read->table);
    if (now() >= until) {
      expect(false, "a table with its check");
      return std::nullopt;
    }
  }
}

bool Subnet::expect_check_of_node() {
  for (const base::Time until = now() + kSettles;; listen(kLooksEvery)) {
    const auto table = own_table();
    const auto node = table ? own_node({kEastLid, 0}) : std::nullopt;
    if (!node) return false;
    if (node->check == PlayedSwitch::check_of(*table)) return true;
    if (now() >= until) return expect(false, "the check of the table in NODE");
  }
}

bool Subnet::await_nothing_held() {
  const auto is_held = [](const fabric::SmpNode::PortInfo& port) {
    return port.state == fabric::SmpNode::PortState::kHeld;
  };
  for (const base::Time until = now() + kSettles;; listen(kLooksEvery)) {
    const auto node = own_node({kEastLid, 0});
    if (!node) return false;
    if (std::ranges::none_of(node->used_ports(), is_held)) return true;
    if (now() >= until) return expect(false, "no held port of the switch itself");
  }
}

// Each look is a request, which the manager may overtake with the next table.
bool Subnet::expect_own_table_right() {
  const auto is_right = [this](const PlayedSwitch::Table& table) {
    for (std::uint16_t lid = 0; lid < PlayedSwitch::kLids; ++lid) {
      const auto port = std::to_integer<std::uint8_t>(table.at(lid));
      if (!is_entry_right(std::string(kManagerName), port, Lid(lid))) return false;
    }
    return true;
  };
  for (const base::Time until = now() + kSettles;; listen(kLooksEvery)) {
    const auto table = own_table();
    if (!table) return false;
    if (is_right(*table)) return true;
    if (now() >= until) return expect(false, "a table of the switch itself that is right");
  }
}

}  // namespace splitnic::conformance
