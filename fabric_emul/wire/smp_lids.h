// The bodies of SMPs that give end nodes their LIDs: LIDS has those of all nodes of a subnet, for
// its switches, and PORT those of one port, for the node that it belongs to.
// docs/protocol/subnet.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "fabric_emul/wire/port_lids.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

inline constexpr std::size_t kSmpLidsBytes = 8;
inline constexpr std::size_t kSmpLidsEntryBytes = 4;
inline constexpr std::size_t kSmpLidsEntriesMax = 64;  // in one SMP
inline constexpr std::size_t kSmpPortBodyBytes = 4;

// The body of SET of PORT and of the reply to it. Writes kSmpPortBodyBytes bytes. REQUIRES room.
std::size_t emit_smp_port(base::MutableBytes out, const PortLids& lids);
SmpError parse_smp_port(base::Bytes in, PortLids& out);  // kBody, or kNone

// The body of what is about LIDS: some of the nodes of a subnet, which are in ascending order of
// their names, as bytes.
struct SmpLids {
  std::uint16_t first = 0;  // of the entries; SET
  std::uint16_t count = 0;  // SET: of the nodes of the subnet
  std::uint32_t check = 0;  // SET: of all. REPLY: of those in force, 0: none are
  std::size_t entry_count = 0;
  std::array<PortLids, kSmpLidsEntriesMax> entries{};

  std::span<const PortLids> used_entries() const { return {entries.data(), entry_count}; }
  std::size_t bytes() const { return kSmpLidsBytes + entry_count * kSmpLidsEntryBytes; }
};
// Writes lids.bytes() bytes. REQUIRES room, and at most kSmpLidsEntriesMax entries.
std::size_t emit_smp_lids(base::MutableBytes out, const SmpLids& lids);
SmpError parse_smp_lids(base::Bytes in, SmpLids& out);  // kBody, or kNone

}  // namespace splitnic::fabric
