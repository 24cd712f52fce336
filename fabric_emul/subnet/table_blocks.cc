#include "fabric_emul/subnet/table_blocks.h"

#include "base/check.h"
#include "base/crc32c.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kLids = kSmpBlocksMax * kSmpBlockLids;

Lid lid_at(std::size_t number) { return Lid(static_cast<std::uint16_t>(number)); }

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

std::uint32_t check_of(const ForwardingTable& table) {
  base::Crc32c crc;
  for (std::uint16_t block = 0; block < kSmpBlocksMax; ++block) crc.extend(block_of(table, block));
  return crc.value();
}

ForwardingTable common_of(const ForwardingTable& a, const ForwardingTable& b) {
  ForwardingTable common;
  for (std::size_t i = 0; i < kLids; ++i) {
    const std::uint8_t port = a.port_of(lid_at(i));
    if (port != 0 && port == b.port_of(lid_at(i))) common.set(lid_at(i), port);
  }
  return common;
}

std::set<std::uint16_t> blocks_of(const Topology& topology) {
  std::set<std::uint16_t> blocks;
  const auto add = [&](Lid lid) {
    blocks.insert(static_cast<std::uint16_t>(lid.value / kSmpBlockLids));
  };
  for (const Topology::Switch& one : topology.switches) add(one.lid);
  for (const Topology::Node& node : topology.nodes) add(node.lid);
  return blocks;
}

}  // namespace splitnic::fabric
