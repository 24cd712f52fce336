// The management cells of the fabric's own services. On QP 0: a datagram of the link layer that
// holds no cell (INIT, IDLE), from one end of a path to the other. On QP 1: MGMT to a switch, which
// resolves names. On QP 2: SMPs, from a switch to its neighbour and back. Thread: the data thread.
// docs/protocol/path.md docs/protocol/subnet.md
#pragma once

#include <optional>

#include "base/bytes.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/wire/extensions.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/mac_header.h"
#include "fabric_emul/wire/mgmt.h"

namespace splitnic::fabric {

// The head of a received cell that a port or switch looks at before anybody else does.
// Returns nothing if the cell has no version that we know.
std::optional<MacHeader> header_of(base::Bytes cell);

// Returns the bytes of a cell with this payload on a path.
std::size_t path_cell_bytes(std::size_t payload_bytes);
// Sends a cell with this payload between two QPs of number `qpn`, with a GNH unless that is null.
// Returns false if the link has no room now. REQUIRES path_cell_bytes(payload.size()), and 40 with
// a GNH, <= link.cell_bytes_max().
bool send_path_cell(Link& link, Lid from, Lid to, Qpn qpn, base::Bytes payload,
                    PartitionKey partition = kDefaultPartition, const Gnh* gnh = nullptr);
// Returns the payload of a cell that is a management cell for this QP and whole, CRC included;
// otherwise nothing.
std::optional<base::Bytes> payload_of_path_cell(base::Bytes cell, Qpn qpn, bool crc_head_only);

// Whether the datagram of a control cell is HELLO or ANSWER: its sender begins a link, or proves
// who it is.
bool begins_a_link(base::Bytes datagram);

// Sends MGMT to a switch, or its reply. Returns false if the link has no room now.
bool send_mgmt(Link& link, Lid from, Lid to, const Mgmt& m,
               PartitionKey partition = kDefaultPartition);

}  // namespace splitnic::fabric
