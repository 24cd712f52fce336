// TERMINATE: what is said when a check fails, and what a work request that it names completes with
// [S002-20]. docs/wire/terminate.md
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

// Of an access that failed its check, by the cell that asked for it.
Terminate refused_access(const CellView& cell, const VaMh& range, AccessCheck check);
// Of anything else about a cell.
Terminate refused_cell(const CellView& cell, TerminateCause cause);

WcStatus status_of(const Terminate& terminate);

}  // namespace splitnic::fabric
