// A run: the middle cells of the RDMA write that is arriving, in order and in one batch. Behind a
// cell that was taken the header of the next one is known but for its flags (MiddleHeader), so a
// run compares it in place of parsing it, checks the cell CRC, and copies the payload. The access
// of the rest of the packet is checked once per run.
//
// Invariant: between two cells of a run nothing else happens. No cell of another queue pair, no
// timer and no call of the owner comes in, so what held at its first cell holds at its last: the
// state of the queue pair, its rights, the region and its guard, the touch of a window. A cell that
// differs in anything ends the run and takes the general path, on_cell(), which leaves the state
// that a run would; so does everything that a run does not do: a packet CRC, an ACK per cell, cells
// that wait in the reorder buffer, a NAK that is due, a region whose pages lie apart.
#include <cstring>

#include "base/crc32c.h"
#include "base/endian.h"
#include "fabric_emul/transport/responder.h"
#include "fabric_emul/wire/middle_header.h"

namespace splitnic::fabric {

// Whether the next cell may be a middle cell of the open packet that nothing but itself can refuse.
bool Responder::is_in_run() const {
  return open_.is_active && open_.op == Op::kRdmaWrite && context_.service == Service::kRc &&
         !nak_ && !context_.fault && !context_.checks_packet_crc &&
         context_.attr.ack_interval > 1 && (early_ == nullptr || early_->empty()) &&
         (context_.attr.rights & kRemoteWrite) != 0;
}

// Returns the memory where the open packet continues, up to its end; empty where its access would
// be refused or it does not lie in one span.
base::MutableBytes Responder::run_memory() const {
  const VaMh& target = open_.target;
  const std::uint64_t offset = std::uint64_t{expected_csn_} * context_.attr.mcp;
  if (offset >= target.length) return {};
  const std::uint64_t rest = target.length - offset;
  if (!context_.mrwt.one_touch().may_continue(target.handle, context_.qpn, expected_psn_))
    return {};
  const AccessResult to =
      context_.mrwt.access(target.handle, VirtualAddress(target.address.value + offset), rest,
                           AccessKind::kRemoteWrite, context_.pd, context_.qpn);
  if (!to.ok() || to.run < rest) return {};
  return {to.at, rest};
}

std::size_t Responder::take_run(std::span<const ReceivedCell> cells, const MacHeader& before,
                                base::Time now) {
  const std::size_t mcp = context_.attr.mcp;
  const std::size_t covered = kMacHeaderBytes + mcp;
  if (cells.empty() || cells.front().bytes.size() != covered + kCrcBytes || !is_in_run()) return 0;
  MacHeader like = before;
  like.op = Op::kRdmaWrite;
  like.psn = expected_psn_;
  like.payload_bytes = static_cast<std::uint16_t>(mcp);
  const MiddleHeader header(like);
  const auto flags_of = [&](base::Bytes cell, std::uint32_t index) {
    return header.flags_if_equal(cell.data(), static_cast<std::uint16_t>(expected_csn_ + index),
                                 expected_lcn_ + index);
  };
  // An access may bring in a page, so it is for a cell that wants it.
  if (!flags_of(cells.front().bytes, 0)) return 0;
  base::MutableBytes to = run_memory();
  std::uint32_t taken = 0;
  // A middle cell leaves something for the last one.
  for (; taken < cells.size() && to.size() > mcp; ++taken) {
    const base::Bytes cell = cells[taken].bytes;
    if (cell.size() != covered + kCrcBytes) break;
    const auto flags = flags_of(cell, taken);
    if (!flags) break;
    const base::Bytes checked = cell.first(cells[taken].crc_head_only ? kMacHeaderBytes : covered);
    if (base::crc32c(checked) != base::load_be<std::uint32_t>(cell.data() + covered)) break;
    if ((*flags & kFlagAckRequest) != 0) ack_schedule_.make_due();
    std::memcpy(to.data(), cell.data() + kMacHeaderBytes, mcp);
    to = to.subspan(mcp);
  }
  if (taken > 0) finish_run(taken, now);
  return taken;
}

// The state behind `cells` cells that were taken in order.
void Responder::finish_run(std::uint32_t cells, base::Time now) {
  const std::size_t cell_bytes = kMacHeaderBytes + context_.attr.mcp + kCrcBytes;
  context_.counters.add(TransportCounter::kRxCells, cells);
  context_.counters.add(TransportCounter::kRxBytes, cells * cell_bytes);
  context_.counters.add(TransportCounter::kRxPredicted, cells);
  is_nak_sent_ = is_packet_refused_ = false;
  last_psn_ = expected_psn_;
  last_csn_ = static_cast<std::uint16_t>(expected_csn_ + cells - 1);
  expected_csn_ += cells;
  expected_lcn_ = expected_lcn_ + cells;
  open_.bytes = std::uint64_t{expected_csn_} * context_.attr.mcp;
  if (early_ != nullptr) early_->advance_empty(cells);
  ack_schedule_.on_taken(cells, context_.attr.ack_interval, now);
}

}  // namespace splitnic::fabric
