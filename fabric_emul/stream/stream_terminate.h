// TERMINATE on STREAM: its content when a check fails, and the status of the work request that it
// names [S002-20]. docs/protocol/terminate.md
#pragma once

#include <cstddef>

#include "fabric_emul/mem/access.h"
#include "fabric_emul/transport/wc.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/terminate.h"

namespace splitnic::fabric {

// Bytes of a TERMINATE cell on STREAM.
inline constexpr std::size_t kTerminateCellBytes =
    kMacHeaderBytes + kStreamBytes + kTerminateBytes + kCrcBytes;

// The TERMINATE for an access that failed its check; `cell` is the cell that requested it.
Terminate refused_access(const CellView& cell, const VaMh& range, AccessCheck check);
// The TERMINATE for any other fault of a cell.
Terminate refused_cell(const CellView& cell, TerminateCause cause);

// The status of the work request that the peer's TERMINATE names.
WcStatus status_of(const Terminate& terminate);

}  // namespace splitnic::fabric
