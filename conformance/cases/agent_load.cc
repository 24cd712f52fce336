// LOAD of the tested switch: how many cells it has forwarded out of each port.
// docs/protocol/subnet.md#load
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "conformance/case.h"
#include "conformance/cases/subnet_parts.h"
#include "fabric_emul/wire/smp_load.h"

namespace splitnic::conformance {
namespace {

using fabric::SmpAttribute;
using fabric::SmpLoad;
using fabric::SmpMethod;
using fabric::SmpStatus;

constexpr unsigned kLoadCells = 5;
constexpr std::array kPortsOfTarget{kEastPort, kWestPort, kNodePort};

// By a switch that the target does not obey.
std::optional<SmpLoad> load_of_target(Subnet& s) {
  const auto reply =
      s.ask(Subnet::request(SmpMethod::kGet, SmpAttribute::kLoad, {kEastLid, 0}), "a reply");
  if (!reply || !s.expect(reply->smp.status == SmpStatus::kDone, "status done")) {
    return std::nullopt;
  }
  SmpLoad load;
  if (!s.expect(fabric::parse_smp_load(reply->body, load) == fabric::SmpError::kNone,
                "a body of LOAD") ||
      !s.expect(std::ranges::equal(load.used_ports(), kPortsOfTarget, {}, &SmpLoad::Port::number),
                "each port that the file has something at")) {
    return std::nullopt;
  }
  return load;
}

// REQUIRES a load of the target.
std::uint64_t cells_at(const SmpLoad& load, std::size_t port) {
  const auto ports = load.used_ports();
  return std::ranges::find(ports, port, &SmpLoad::Port::number)->cells;
}

void add_counts(SubnetGroup& group) {
  group.add("load", "P-SUBN-30", "LOAD counts each cell at the port that it leaves by.",
            [](Subnet& s) {
              if (!s.begin()) return;
              const auto before = load_of_target(s);
              if (!before) return;
              for (unsigned i = 0; i < kLoadCells; ++i) {
                const ByteVector cell = s.node().cell_to(kEastNodeLid, 64, i);
                s.node().send_cell(cell);
                if (!s.end(kEastPort).expect_cell(cell, "the cell of a node at a cable")) return;
              }
              const auto after = load_of_target(s);
              if (!after) return;
              s.expect(cells_at(*after, kEastPort) == cells_at(*before, kEastPort) + kLoadCells,
                       "the cells in the count of their port");
              s.expect(cells_at(*after, kWestPort) == cells_at(*before, kWestPort) &&
                           cells_at(*after, kNodePort) == cells_at(*before, kNodePort),
                       "no cell in the count of another port");
            });
}

void add_set(SubnetGroup& group) {
  group.add("load_is_not_set", "P-SUBN-30", "SET LOAD gets status bad.", [](Subnet& s) {
    if (!s.begin()) return;
    const auto manager = *s.manager();
    expect_status(s,
                  s.ask(Subnet::request(SmpMethod::kSet, SmpAttribute::kLoad, manager),
                        "a reply to SET LOAD"),
                  SmpStatus::kBad, manager);
  });
}

}  // namespace

std::vector<Case> agent_load_cases() {
  SubnetGroup group("agent");
  add_counts(group);
  add_set(group);
  return group.take();
}

}  // namespace splitnic::conformance
