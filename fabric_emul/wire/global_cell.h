// The network layer's changes of a whole cell: it adds a GNH for another subnet, changes hop limit
// and LIDs on the way, and removes the GNH at the end. The cell CRC is computed at each of these;
// the packet CRC covers no byte that changes and stays. Whoever calls these has checked the cell
// CRC, or the cell would become valid here. Pure. [S000-33] docs/protocol/network.md
#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"
#include "fabric_emul/wire/extensions.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/mac_header.h"
#include "fabric_emul/wire/network_address.h"

namespace splitnic::fabric {

inline constexpr std::uint8_t kGlobalHopLimit = 64;    // of an end node
inline constexpr std::uint8_t kGlobalNextHeader = 59;  // of all services but Raw

// The LIDs of one subnet that a cell has in its MAC header.
struct CellLids {
  Lid destination, source;
};

constexpr bool has_gnh(const MacHeader& header) { return (header.flags & kFlagGlobal) != 0; }
// The GNH is the header of an IPv6 datagram, whose addresses may be of no port [S000-14].
constexpr bool is_datagram(const MacHeader& header) {
  return has_gnh(header) && header.service == Service::kRaw;
}
// The GNH is of the network layer, which adds and removes it.
constexpr bool is_global(const MacHeader& header) {
  return has_gnh(header) && header.service != Service::kRaw;
}
// The GNH of a cell between two ports.
Gnh gnh_between(const NetworkAddress& from, const NetworkAddress& to, std::uint8_t sl,
                std::uint16_t payload_bytes);
// Returns nothing if the GNH is not whole; or not as gnh_between() and routers make it, where the
// cell is_global(); or of another length than the payload. REQUIRES a cell with a right CRC that
// has_gnh().
std::optional<Gnh> gnh_of(base::Bytes cell);

// Each writes the changed cell to `out` and returns its bytes. REQUIRES room in `out`, which does
// not overlap the cell; `gnh` of the cell for forward_global() and remove_gnh().
std::size_t add_gnh(base::MutableBytes out, base::Bytes cell, const Gnh& gnh, CellLids lids,
                    bool crc_head_only);
// One hop: hop limit - 1, and SL from the traffic class, unless that is of a datagram.
std::size_t forward_global(base::MutableBytes out, base::Bytes cell, const Gnh& gnh, CellLids lids,
                           bool crc_head_only);
// For a datagram, whose header stays.
std::size_t change_lids(base::MutableBytes out, base::Bytes cell, CellLids lids,
                        bool crc_head_only);
std::size_t remove_gnh(base::MutableBytes out, base::Bytes cell, CellLids lids, bool crc_head_only);

}  // namespace splitnic::fabric
