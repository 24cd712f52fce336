// A switch over an in-process hub, with plain ports of end nodes that write any cell into it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabric_emul/switching/switch.h"
#include "fabric_emul/wire/cell.h"
#include "tests/unit/fabric_emul/link/link_world.h"

namespace splitnic::fabric::switch_world {

using namespace std::chrono_literals;
using Cell = std::vector<std::byte>;

// Switch "sw" (LID 1) with nodes "n1", "n2", ... (LID 11, 12, ...) at its ports 1, 2, ...
inline Topology star(std::size_t nodes) {
  Topology topology;
  topology.switches.push_back({"sw", Lid(1)});
  for (std::size_t i = 1; i <= nodes; ++i) {
    topology.nodes.push_back({"n" + std::to_string(i),
                              Lid(static_cast<std::uint16_t>(10 + i)),
                              {"sw", static_cast<std::uint8_t>(i)},
                              {}});
  }
  return topology;
}

// An RDMA write of one cell, or what `change` makes of it.
template <class Change>
Cell cell_with(Lid from, Lid to, std::size_t payload_bytes, unsigned seed, Change&& change) {
  CellHead head;
  head.header.slid = from;
  head.header.dlid = to;
  head.header.op = Op::kSend;
  head.header.flags = kFlagPacketCrc;
  head.header.psn = Psn(seed);
  change(head);
  const Cell payload = link_world::pattern(payload_bytes, seed);
  Cell cell(cell_bytes(head, payload_bytes));
  cell.resize(emit_cell(cell, head, payload));
  return cell;
}
inline Cell cell(Lid from, Lid to, std::size_t payload_bytes = 64, unsigned seed = 0) {
  return cell_with(from, to, payload_bytes, seed, [](CellHead&) {});
}

struct World {
  explicit World(std::size_t nodes, const InProcessConfig& config = {},
                 LinkProfile profile = LinkProfile::kSpeed)
      : World(star(nodes), config, profile) {}
  explicit World(const Topology& topology, const InProcessConfig& config = {},
                 LinkProfile profile = LinkProfile::kSpeed)
      : hub(config), sw(plan_of(topology, "sw").value(), random) {
    const auto config_of = [profile](std::uint64_t eui64, std::uint64_t instance) {
      return link_world::with_profile(link_world::config_of(eui64, instance), profile);
    };
    for (std::size_t i = 1; i <= topology.nodes.size(); ++i) {
      InProcessUnderlay& at_switch = hub.add_endpoint();
      InProcessUnderlay& at_node = hub.add_endpoint();
      sw.add_port(static_cast<std::uint8_t>(i), at_switch, config_of(0x100 + i, 7), nullptr,
                  clock.now());
      ends.push_back(std::make_unique<link_world::End>(at_node, config_of(0x200 + i, 1000 + i)));
      carriers.push_back(&at_node);
      ends.back()->port.connect(at_switch.address(), clock.now());
    }
    run(1s);
    for (const auto& end : ends) EXPECT_TRUE(end->link().up());
  }

  // One iteration of the switch and of the nodes that take part.
  bool iterate(const std::vector<std::size_t>& without = {}) {
    bool made_progress = sw.step(clock.now());
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (std::find(without.begin(), without.end(), i + 1) != without.end()) continue;
      made_progress |= ends[i]->step(clock.now());
    }
    return made_progress;
  }
  // The node takes part, and reads nothing.
  void only_send(std::size_t number) {
    node(number).port.on_time(clock.now());
    node(number).port.flush(clock.now());
  }
  // The node reads one batch.
  void read_one(std::size_t number) {
    link_world::End& end = node(number);
    end.port.receive(clock.now(), 1, [&end](Link&, std::span<const ReceivedCell> got) {
      for (const ReceivedCell& one : got)
        end.cells.emplace_back(one.bytes.begin(), one.bytes.end());
    });
  }
  void settle(const std::vector<std::size_t>& without = {}) {
    while (iterate(without)) {
    }
  }
  void run(base::Duration time, const std::vector<std::size_t>& without = {}) {
    link_world::run_for(clock, time, [&] { return iterate(without); });
  }
  link_world::End& node(std::size_t number) { return *ends.at(number - 1); }
  static Lid lid(std::size_t number) { return Lid(static_cast<std::uint16_t>(10 + number)); }
  // Returns false if the node's link takes nothing now.
  bool write(std::size_t from, const Cell& bytes, std::uint8_t vl = 0) {
    const bool is_written = link_world::write(node(from).link(), bytes, vl);
    node(from).port.flush(clock.now());
    return is_written;
  }
  // Writes up to kBurst long cells as one batch, the i-th to the LID `to(i)`. Returns how many the
  // node's link took.
  static constexpr unsigned kBurst = 40;
  template <class To>
  unsigned burst(std::size_t from, To&& to) {
    unsigned written = 0;
    while (written < kBurst &&
           link_world::write(node(from).link(), cell(lid(from), to(written), 1300))) {
      ++written;
    }
    node(from).port.flush(clock.now());
    return written;
  }
  std::uint64_t count(SwitchCounter which) const { return sw.counters()[which]; }
  std::uint64_t drops() const {
    std::uint64_t all = 0;
    sw.counters().visit([&](std::string_view name, std::uint64_t value) {
      if (name.starts_with("switch.drop.")) all += value;
    });
    return all;
  }
  // Each cell that came in went out, was for the switch, waits, or was dropped for one reason.
  bool is_balanced() const {
    return count(SwitchCounter::kRxCell) == count(SwitchCounter::kTxCell) +
                                                count(SwitchCounter::kMgmt) + sw.waiting_cells() +
                                                drops();
  }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  Switch sw;
  std::vector<std::unique_ptr<link_world::End>> ends;
  std::vector<InProcessUnderlay*> carriers;
};

}  // namespace splitnic::fabric::switch_world
