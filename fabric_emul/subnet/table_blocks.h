// Forwarding tables in parts: blocks of LIDs as SMPs carry them, the check value of all tables of a
// switch, and the step between two states of them. Pure. docs/protocol/subnet.md
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

using TableBlock = std::array<std::byte, kSmpBlockLids>;

// Returns the ports of the LIDs from 256 times `block`. REQUIRES block < kSmpBlocksMax.
TableBlock block_of(const ForwardingTable& table, std::uint16_t block);
// REQUIRES block < kSmpBlocksMax, and kSmpBlockLids ports.
void set_block(ForwardingTable& table, std::uint16_t block, base::Bytes ports);

// Returns the CRC-32C over all blocks of the table of kNoInput, and then, of each input with an
// entry, over its number and its blocks.
std::uint32_t check_of(const ForwardingTables& tables);

// Returns the entries that both have. A cell that follows them, at some switches or at all, goes
// the way of either: so in between no two switches pass a cell to and fro. REQUIRES as many tables
// in a as in b.
ForwardingTables common_of(const ForwardingTables& a, const ForwardingTables& b);

// A block of one of the tables of a switch.
struct TablePart {
  std::uint8_t input = kNoInput;
  std::uint16_t block = 0;
  friend auto operator<=>(const TablePart&, const TablePart&) = default;
};

// Returns the parts that can have entries at the switch of the topology that reports this,
// ascending: of each of its tables the blocks that hold a LID of the topology. It has a table for
// each port that it reports, where the file has one per input.
std::vector<TablePart> parts_of(const Topology& topology, const SmpNode& of_switch);

}  // namespace splitnic::fabric
