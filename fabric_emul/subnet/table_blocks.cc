#include "fabric_emul/subnet/table_blocks.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/check.h"
#include "base/crc32c.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kLids = kSmpBlocksMax * kSmpBlockLids;

Lid lid_at(std::size_t number) { return Lid(static_cast<std::uint16_t>(number)); }

std::uint16_t block_with(Lid lid) { return static_cast<std::uint16_t>(lid.value / kSmpBlockLids); }

// By the ports of all LIDs.
void extend(base::Crc32c& crc, const ForwardingTable& table) {
  const base::Bytes ports = std::as_bytes(table.ports());
  crc.extend(ports.first(std::min(ports.size(), kLids)));
  const std::array<std::byte, kSmpBlockLids> zeros{};
  for (std::size_t at = ports.size(); at < kLids;) {
    const std::size_t count = std::min(kLids - at, zeros.size());
    crc.extend(base::Bytes(zeros).first(count));
    at += count;
  }
}

void add_common(ForwardingTable& to, const ForwardingTable& a, const ForwardingTable& b) {
  const std::size_t count = std::min(a.ports().size(), b.ports().size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t port = a.ports()[i];
    if (port != 0 && port == b.ports()[i]) to.set(lid_at(i), port);
  }
}

}  // namespace

TableBlock block_of(const ForwardingTable& table, std::uint16_t block) {
  CHECK(block < kSmpBlocksMax);
  TableBlock ports;
  for (std::size_t i = 0; i < kSmpBlockLids; ++i) {
    ports[i] = static_cast<std::byte>(table.port_of(lid_at(block * kSmpBlockLids + i)));
  }
  return ports;
}

void set_block(ForwardingTable& table, std::uint16_t block, base::Bytes ports) {
  CHECK(block < kSmpBlocksMax && ports.size() == kSmpBlockLids);
  for (std::size_t i = 0; i < kSmpBlockLids; ++i) {
    table.set(lid_at(block * kSmpBlockLids + i), std::to_integer<std::uint8_t>(ports[i]));
  }
}

std::uint32_t check_of(const ForwardingTables& tables) {
  base::Crc32c crc;
  extend(crc, tables.of(kNoInput));
  if (tables.per() == TablesPer::kSwitch) return crc.value();
  for (std::size_t port = 1; port <= kSwitchPortsMax; ++port) {
    const auto input = static_cast<std::uint8_t>(port);
    if (tables.of(input).is_empty()) continue;
    const std::array number{std::byte{input}};
    crc.extend(number);
    extend(crc, tables.of(input));
  }
  return crc.value();
}

ForwardingTables common_of(const ForwardingTables& a, const ForwardingTables& b) {
  CHECK(a.per() == b.per());
  ForwardingTables common(a.per());
  const std::size_t inputs = a.per() == TablesPer::kSwitch ? 1 : kSwitchPortsMax + 1;
  for (std::size_t i = 0; i < inputs; ++i) {
    const auto input = static_cast<std::uint8_t>(i);
    add_common(common.of(input), a.of(input), b.of(input));
  }
  return common;
}

std::vector<TablePart> parts_of(const Topology& topology, const SmpNode& of_switch) {
  std::set<std::uint16_t> blocks;
  std::set<std::uint8_t> inputs{kNoInput};
  if (topology.tables_per == TablesPer::kInput) {
    for (const SmpNode::PortInfo& port : of_switch.used_ports()) inputs.insert(port.number);
  }
  for (const Topology::Switch& one : topology.switches) blocks.insert(block_with(one.lid));
  static_assert(kSmpBlockLids % kPathsMax == 0);  // a block has all LIDs of a port, or none
  for (const Topology::Node& node : topology.nodes) blocks.insert(block_with(node.lid));
  std::vector<TablePart> parts;
  for (const std::uint8_t input : inputs) {
    for (const std::uint16_t block : blocks) parts.push_back({input, block});
  }
  return parts;
}

}  // namespace splitnic::fabric
