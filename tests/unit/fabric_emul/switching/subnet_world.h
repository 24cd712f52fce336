// Switches with agents and managers over an in-process hub, with cables that can be cut and lose
// SMPs, and with end nodes: plain ports, which have no agent, or attachments. A switch can be
// killed and started at any time, and an attached node too.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "fabric_emul/subnet/routes.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/subnet/subnet_manager.h"
#include "fabric_emul/subnet/table_blocks.h"
#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/underlay/underlay_decorator.h"
#include "fabric_emul/wire/flit.h"
#include "tests/unit/fabric_emul/switching/attached_node.h"
#include "tests/unit/fabric_emul/switching/switch_world.h"

namespace splitnic::fabric::subnet_world {

using namespace std::chrono_literals;
using switch_world::Cell;

// Switches s1, s2, ... (LID 1, 2, ...) in a ring: port 1 of each leads to port 2 of the next. Nodes
// n1, n2, ... (LID 101, ...) at port 3 of s1, s2, ..., and the last one at port 4 of s1.
inline Topology ring(std::size_t switches) {
  Topology t;
  const auto name = [](const char* of, std::size_t i) { return of + std::to_string(i); };
  for (std::size_t i = 1; i <= switches; ++i) {
    t.switches.push_back({name("s", i), Lid(static_cast<std::uint16_t>(i))});
    t.cables.push_back({{name("s", i), 1}, {name("s", i % switches + 1), 2}});
    t.nodes.push_back({name("n", i), Lid(static_cast<std::uint16_t>(100 + i)), {name("s", i), 3}});
  }
  t.nodes.push_back(
      {name("n", switches + 1), Lid(static_cast<std::uint16_t>(101 + switches)), {"s1", 4}});
  return t;
}

inline Topology without_node(Topology t, const std::string& name) {
  std::erase_if(t.nodes, [&](const Topology::Node& node) { return node.name == name; });
  return t;
}

// One end of a cable or of a node's link.
class Wire final : public UnderlayDecorator {
 public:
  Wire(Underlay& below, base::Random& random) : UnderlayDecorator(below), random_(random) {}
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    if (is_cut) return SendStatus::kSent;
    for (std::size_t at = 0; at < bytes.size(); at += stride) {
      FlitWalker walker(bytes.subspan(at, std::min(stride, bytes.size() - at)));
      FlitView flit;
      while (walker.next(flit) == FlitWalker::Step::kFlit) {
        const auto header = header_of(flit.payload);
        if (flit.header.type != FlitType::kData || !header) continue;
        const bool is_smp = header->op == Op::kMgmt && header->dqpn == kSubnetQpn;
        if (is_smp && (random_.chance_ppm(smp_loss_ppm) || drops_smp(flit.payload))) {
          return SendStatus::kSent;
        }
        smps += is_smp ? 1U : 0U;
        if (!is_smp && header->op == Op::kSend) ++hops[header->psn.value];
      }
    }
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override { return below_.receive(); }
  base::Time deadline() const override { return below_.deadline(); }

  bool is_cut = false;
  std::uint32_t smp_loss_ppm = 0;
  bool drops_last_stage = false;   // of tables for the switch at the other end
  bool drops_table_reads = false;  // GET TABLE
  std::uint64_t table_reads = 0;
  std::uint64_t smps = 0;
  std::map<std::uint32_t, unsigned> hops;  // cells of nodes that left here, by PSN

 private:
  bool drops_smp(base::Bytes cell) {
    Smp smp;
    SmpTable part;
    const auto payload = payload_of_path_cell(cell, kSubnetQpn, false);
    if (!payload || parse_smp(*payload, smp) != SmpError::kNone) return false;
    if (smp.method == SmpMethod::kGet && smp.attribute == SmpAttribute::kTable) {
      ++table_reads;
      return drops_table_reads;
    }
    return drops_last_stage && smp.method == SmpMethod::kSet && smp.hop == smp.route.hops &&
           parse_smp_table(smp.body, part) == SmpError::kNone &&
           part.stage == SmpTable::Stage::kSet;
  }

  base::Random& random_;
};

inline bool is_smp(base::Bytes cell) {
  return payload_of_path_cell(cell, kSubnetQpn, false).has_value();
}

// The process of a switch.
struct Box {
  Box(SwitchPlan plan, base::Random& random) : sw(std::move(plan), random) {}
  Switch sw;
  std::optional<SubnetAgent> agent;
  std::optional<SubnetManager> manager;
};

struct World {
  // Without the lines of links that come and go, which would use up what may be logged.
  ~World() { base::set_log_level("info"); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  enum class Nodes : std::uint8_t { kPlain, kAttached };
  // `hops` is the profile of all links.
  explicit World(Topology topology, Nodes kind = Nodes::kPlain,
                 LinkProfile hops = LinkProfile::kSpeed)
      : file(std::move(topology)), profile(hops) {
    base::set_log_level("error");
    for (const auto& cable : file.cables) {
      add_end(cable.a);
      add_end(cable.b);
    }
    for (const auto& node : file.nodes) {
      add_end(node.at);
      InProcessUnderlay& at = hub.add_endpoint();
      at_nodes[node.name] = &at;
      if (kind == Nodes::kAttached) {
        attach(node.name);
        continue;
      }
      const auto number = static_cast<std::uint64_t>(node.lid.value);
      nodes[node.name] = std::make_unique<link_world::End>(
          at, link_world::config_of(0x5000 + number, 9000 + number));
      nodes[node.name]->port.connect(ends.at(node.at)->address(), clock.now());
    }
  }

  // Starts the program of a node, in place of one that was there.
  void attach(const std::string& name) {
    const auto node = std::ranges::find(file.nodes, name, &Topology::Node::name);
    attached.erase(name);
    at_nodes.at(name)->clear();
    ++instance;
    const std::size_t mark = name.find('#');
    const std::uint32_t queue =
        mark == std::string::npos ? 0 : static_cast<std::uint32_t>(name[mark + 1] - '0');
    const PartitionTable partitions =
        node->partitions.empty() ? PartitionTable() : PartitionTable(node->partitions);
    attached[name] = std::make_unique<switch_world::Node>(
        *at_nodes.at(name), ends.at(node->at)->address(), 0x7000U + number_of(name), instance, true,
        clock, 16, queue, partitions, profile, "host-" + name.substr(0, mark));
  }
  std::uint64_t number_of(const std::string& name) const {
    const auto node = std::ranges::find(file.nodes, name, &Topology::Node::name);
    return static_cast<std::uint64_t>(node - file.nodes.begin());
  }
  bool are_all_attached() const {
    return std::ranges::all_of(
        attached, [](const auto& one) { return one.second->attachment.is_attached(); });
  }

  void add_end(const PortPlace& place) {
    ends[place] = &hub.add_endpoint();
    wires[place] = std::make_unique<Wire>(*ends[place], random);
    ends[place]->set_plugged(false);
  }
  // Ports of cables: the first end listens. `other`: the file of this switch.
  void start(const std::string& name, std::optional<int> priority = {}, bool is_empty = false,
             const Topology* other = nullptr) {
    auto box =
        std::make_unique<Box>(plan_of(other == nullptr ? file : *other, name).value(), random);
    if (is_empty) box->sw.set_tables(ForwardingTables(file.tables_per));
    ++instance;
    for (std::uint8_t port = 1; port <= kSwitchPortsMax; ++port) {
      const PortPlace place{name, port};
      if (!ends.contains(place)) continue;
      ends[place]->clear();
      ends[place]->set_plugged(true);
      const PeerAddress* to = nullptr;
      for (const auto& cable : file.cables) {
        if (cable.b == place) to = &ends.at(cable.a)->address();
      }
      const std::uint64_t eui64 = box->sw.plan().lid.value * 100U + port;
      box->sw.add_port(port, *wires[place],
                       link_world::with_profile(link_world::config_of(eui64, instance), profile),
                       to, clock.now());
    }
    const auto copied = eui64s.find(name);
    box->agent.emplace(
        box->sw, copied == eui64s.end() ? Eui64(box->sw.plan().lid.value * 100U) : copied->second);
    if (priority) {
      box->manager.emplace(file, name, static_cast<std::uint8_t>(*priority), *box->agent, random);
    }
    boxes[name] = std::move(box);
  }
  void start_all(const std::string& manager, bool are_empty = false) {
    for (const auto& one : file.switches) {
      start(one.name, one.name == manager ? std::optional(5) : std::nullopt, are_empty);
    }
  }
  // A switch whose file is another than that of the world.
  void start_by(const std::string& name, const Topology& other) {
    start(name, std::nullopt, false, &other);
  }
  // A switch that runs manages by this file, which may be another than its own.
  void manage_by(const std::string& name, const Topology& other) {
    Box& box = *boxes.at(name);
    box.manager.emplace(other, name, std::uint8_t{5}, *box.agent, random);
  }
  // Without a BYE, as SIGKILL does.
  void kill(const std::string& name) {
    boxes.erase(name);
    for (auto& [place, end] : ends) {
      if (place.of_switch == name) end->set_plugged(false);
    }
  }
  void set_cut(std::size_t cable, bool is_cut) {
    wires.at(file.cables.at(cable).a)->is_cut = is_cut;
    wires.at(file.cables.at(cable).b)->is_cut = is_cut;
  }

  bool iterate() {
    bool made_progress = false;
    for (auto& [name, box] : boxes) {
      box->agent->step(clock.now());
      if (box->manager) box->manager->step(clock.now());
      made_progress |= box->sw.step(clock.now());
    }
    for (auto& [name, node] : nodes) {
      made_progress |= node->step(clock.now());
      std::erase_if(node->cells, is_smp);  // it has no agent
    }
    for (auto& [name, node] : attached) made_progress |= node->end->step(clock.now());
    return made_progress;
  }
  // A cell that a switch wrote in its last step leaves in the next one.
  void settle() {
    for (int quiet = 0; quiet < 2;) quiet = iterate() ? 0 : quiet + 1;
  }
  void run(base::Duration time, base::Duration step = 10ms) {
    for (const base::Time end = clock.now() + time; clock.now() < end; clock.advance(step)) {
      settle();
    }
  }
  // Runs until it holds. Returns false if it did not within `time`.
  template <class Holds>
  bool run_until(base::Duration time, Holds&& holds) {
    for (const base::Time end = clock.now() + time; clock.now() < end; clock.advance(10ms)) {
      settle();
      if (holds()) return true;
    }
    return false;
  }

  Lid lid_of(const std::string& node) const {
    return std::ranges::find(file.nodes, node, &Topology::Node::name)->lid;
  }
  bool write(const std::string& from, const std::string& to) {
    link_world::End& end = *nodes.at(from);
    if (end.watch.link == nullptr || !end.link().up()) return false;
    return link_world::write(end.link(),
                             switch_world::cell(lid_of(from), lid_of(to), 64, ++last_psn));
  }
  bool reaches(const std::string& from, const std::string& to) {
    const std::size_t before = nodes.at(to)->cells.size();
    if (!write(from, to)) return false;
    settle();
    return nodes.at(to)->cells.size() == before + 1;
  }
  // Each node reaches each other one.
  bool all_reach() {
    for (const auto& [from, a] : nodes) {
      for (const auto& [to, b] : nodes) {
        if (from != to && !reaches(from, to)) return false;
      }
    }
    return true;
  }
  // Whether the switches that run have the tables that follow from `up`.
  bool has_tables_of(const Topology& up) const {
    auto expected = routes_of(up);
    return std::ranges::all_of(boxes, [&](const auto& box) {
      return check_of(box.second->sw.tables()) == check_of(expected[box.first]);
    });
  }
  // The same of the file without these cables, and without the switches that do not run.
  bool has_tables_without(const std::vector<std::size_t>& cables) {
    Topology up = file;
    for (std::size_t i = cables.size(); i-- > 0;) {
      up.cables.erase(up.cables.begin() + static_cast<long>(cables[i]));
    }
    std::erase_if(up.switches, [&](const auto& one) { return !boxes.contains(one.name); });
    std::erase_if(up.cables, [&](const auto& cable) {
      return !boxes.contains(cable.a.of_switch) || !boxes.contains(cable.b.of_switch);
    });
    std::erase_if(up.nodes, [&](const auto& node) { return !boxes.contains(node.at.of_switch); });
    return has_tables_of(up);
  }
  // No switch forwarded a cell that had been there, nor got one back.
  std::uint64_t same_port_drops() const {
    std::uint64_t all = 0;
    for (const auto& [name, box] : boxes) all += box->sw.counters()[SwitchCounter::kDropSamePort];
    return all;
  }
  unsigned most_visits() const {
    unsigned most = 0;
    for (const auto& [place, wire] : wires) {
      for (const auto& [psn, visits] : wire->hops) most = std::max(most, visits);
    }
    return most;
  }
  std::uint64_t count(const std::string& name, SubnetCounter which) {
    return boxes.at(name)->agent->counters()[which];
  }
  std::optional<Lid> manager_of(const std::string& name) const {
    const auto manager = boxes.at(name)->agent->manager();
    return manager ? std::optional(manager->lid) : std::nullopt;
  }

  const Topology file;
  const LinkProfile profile;
  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  std::uint64_t instance = 0;
  std::uint32_t last_psn = 0;
  std::map<std::string, Eui64> eui64s;  // of a switch that has that of another one
  std::map<PortPlace, InProcessUnderlay*> ends;
  std::map<PortPlace, std::unique_ptr<Wire>> wires;
  std::map<std::string, std::unique_ptr<Box>> boxes;
  std::map<std::string, InProcessUnderlay*> at_nodes;
  std::map<std::string, std::unique_ptr<link_world::End>> nodes;
  std::map<std::string, std::unique_ptr<switch_world::Node>> attached;
};

}  // namespace splitnic::fabric::subnet_world
