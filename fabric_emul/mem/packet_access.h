// The accesses of a packet of several cells, one for each cell: each is checked again, since a
// region may be deregistered in mid-packet [X-48], a window may be bound to another range [M-09],
// [M-10], and one with one touch may have ended (one_touch.h). Thread: as placement.h.
#pragma once

#include "fabric_emul/mem/placement.h"

namespace splitnic::fabric {

// The packet with this number, of queue pair `qp` of `pd`, which has touched `handle`, continues to
// write, or to be read from, memory at `address`.
inline PlacementResult continue_write(Mrwt& table, PdId pd, Qpn qp, Psn psn, MemoryHandle handle,
                                      VirtualAddress address, base::Bytes in) noexcept {
  if (!table.one_touch().may_continue(handle, qp, psn)) return {false, AccessCheck::kA};
  return write_remote(table, pd, qp, handle, address, in);
}
inline PlacementResult continue_read(Mrwt& table, PdId pd, Qpn qp, Psn psn, MemoryHandle handle,
                                     VirtualAddress address, base::MutableBytes out) noexcept {
  if (!table.one_touch().may_continue(handle, qp, psn)) return {false, AccessCheck::kA};
  return read_remote(table, pd, qp, handle, address, out);
}

}  // namespace splitnic::fabric
