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

// Whether the network layer looks at the cell: it has a GNH, and that is not the header of a
// datagram (Raw).
constexpr bool is_global(const MacHeader& header) {
  return (header.flags & kFlagGlobal) != 0 && header.service != Service::kRaw;
}
// The GNH of a cell between two ports.
Gnh gnh_between(const NetworkAddress& from, const NetworkAddress& to, std::uint8_t sl,
                std::uint16_t payload_bytes);
// Returns nothing if the GNH is not whole, or not as gnh_between() and routers make it. REQUIRES a
// cell with a right CRC that is_global().
std::optional<Gnh> gnh_of(base::Bytes cell);

// Each writes the changed cell to `out` and returns its bytes. REQUIRES room in `out`, which does
// not overlap the cell; `gnh` of the cell for the last two.
std::size_t add_gnh(base::MutableBytes out, base::Bytes cell, const Gnh& gnh, CellLids lids,
                    bool crc_head_only);
// One hop: hop limit - 1, SL from the traffic class.
std::size_t forward_global(base::MutableBytes out, base::Bytes cell, const Gnh& gnh, CellLids lids,
                           bool crc_head_only);
std::size_t remove_gnh(base::MutableBytes out, base::Bytes cell, CellLids lids, bool crc_head_only);

}  // namespace splitnic::fabric
