// Forwarding tables in parts: blocks of LIDs as SMPs carry them, the check value of a whole table,
// and the step between two tables. Pure. docs/protocol/subnet.md
#pragma once

#include <array>
#include <cstdint>
#include <set>

#include "base/bytes.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

using TableBlock = std::array<std::byte, kSmpBlockLids>;

// Returns the ports of the LIDs from 256 times `block`. REQUIRES block < kSmpBlocksMax.
TableBlock block_of(const ForwardingTable& table, std::uint16_t block);
// REQUIRES block < kSmpBlocksMax, and kSmpBlockLids ports.
void set_block(ForwardingTable& table, std::uint16_t block, base::Bytes ports);

// Returns the CRC-32C over all blocks.
std::uint32_t check_of(const ForwardingTable& table);

// Returns the entries that both have. A cell that follows it, at some switches or at all, goes the
// way of either: so in between no two switches pass a cell to and fro.
ForwardingTable common_of(const ForwardingTable& a, const ForwardingTable& b);

// Returns the blocks that hold a LID of the topology.
std::set<std::uint16_t> blocks_of(const Topology& topology);

}  // namespace splitnic::fabric
