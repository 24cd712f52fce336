// The identifiers of the fabric, one type each. Their meaning: docs/GLOSSARY.md.
#pragma once

#include <cstdint>

#include "base/strong_id.h"

namespace splitnic::fabric {

using Lid = base::StrongId<struct LidTag, std::uint16_t>;  // link address of a port
using Qpn = base::StrongId<struct QpnTag, std::uint32_t>;  // queue pair number, 24 bits
using PartitionKey = base::StrongId<struct PartitionTag, std::uint16_t>;     // partition.h
using MemoryHandle = base::StrongId<struct MemoryHandleTag, std::uint32_t>;  // L_Key = R_Key
using VirtualAddress = base::StrongId<struct VirtualAddressTag, std::uint64_t>;
using PdId = base::StrongId<struct PdTag, std::uint32_t>;      // protection domain
using CqId = base::StrongId<struct CqTag, std::uint32_t>;      // completion queue
using Eui64 = base::StrongId<struct Eui64Tag, std::uint64_t>;  // hardware identity of a component

// A locally administered identity: its first byte is 2, the others are the low 56 of `bits`.
constexpr Eui64 local_eui64(std::uint64_t bits) {
  constexpr std::uint64_t kLocal = std::uint64_t{2} << 56;
  constexpr std::uint64_t kLow = (std::uint64_t{1} << 56) - 1;
  return Eui64(kLocal | (bits & kLow));
}

using Psn = base::Serial<struct PsnTag, 24>;                    // packet sequence number
using Lcn = base::Serial<struct LcnTag, 16>;                    // linear cell number, RC and RD
using Lsn = base::Serial<struct LsnTag, 16>;                    // link sequence number
using Msn = base::Serial<struct MsnTag, 24>;                    // completed packets, in ACKs
using StreamNumber = base::Serial<struct StreamNumberTag, 32>;  // of a byte, STREAM

// LIDs of ports are 1 to this. The network layer of an end node names peers in other subnets by
// those beyond, which are on no link.
inline constexpr std::uint16_t kPortLidMax = 0xBFFF;

// A port has 2^LMC LIDs, each of which is a path of its number [S004-18].
inline constexpr std::uint8_t kLmcMax = 7;
inline constexpr unsigned kPathsMax = 1U << kLmcMax;
// In place of the number of a path: by all of them.
inline constexpr unsigned kAllPaths = kPathsMax;
// The LID of a path, of a port with this base LID; of the only path that is used, its LID.
constexpr Lid path_of(Lid base, unsigned path) {
  return Lid(static_cast<std::uint16_t>(base.value + path));
}

}  // namespace splitnic::fabric
