// Checked copies between memory of the table and a flat buffer; regions made of pages are copied
// run by run. Local memory is a list of pieces, remote access names one range. The list is the
// gather list of a send or the scatter list of a receive; `offset` counts from its first byte, so
// each cell of a packet is copied on its own. Every piece that is touched is checked over its whole
// extent, and the pages that are touched are brought in, before the first byte moves: a refused
// copy leaves both sides unchanged [S002-19]. That needs a source that takes out no page of the
// region to bring in another. Runs on the thread that owns the table; allocates nothing.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "fabric_emul/mem/mrwt.h"

namespace splitnic::fabric {

// One piece of a gather or scatter list.
struct Sge {
  VirtualAddress address;
  std::uint32_t length = 0;
  MemoryHandle lkey;
};

struct PlacementResult {
  bool is_placed = true;
  AccessCheck failed = AccessCheck::kA;  // means something only when !ok()
  constexpr bool ok() const { return is_placed; }
};

// Bytes that the list holds; cannot wrap for a span that fits in memory.
std::uint64_t total_length(std::span<const Sge> pieces);

// List bytes [offset, offset + out.size()) -> out; needs local read. A range past the end of the
// list is refused with letter e. An empty range touches nothing and is fine.
PlacementResult gather(const Mrwt& table, PdId pd, std::span<const Sge> pieces,
                       std::uint64_t offset, base::MutableBytes out) noexcept;

// in -> list bytes [offset, offset + in.size()); needs local write. Refusals as for gather().
PlacementResult scatter(const Mrwt& table, PdId pd, std::span<const Sge> pieces,
                        std::uint64_t offset, base::Bytes in) noexcept;

// A remote write or read of [address, address + size) through `handle`, for queue pair `qp` of
// `pd`: the one place where cells meet memory. Checked whole before the first byte moves.
PlacementResult write_remote(const Mrwt& table, PdId pd, Qpn qp, MemoryHandle handle,
                             VirtualAddress address, base::Bytes in) noexcept;
PlacementResult read_remote(const Mrwt& table, PdId pd, Qpn qp, MemoryHandle handle,
                            VirtualAddress address, base::MutableBytes out) noexcept;

}  // namespace splitnic::fabric
