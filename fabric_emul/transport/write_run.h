// Middle cells of one RDMA write, one behind the other into the current batch of a link. Their
// headers differ in CSN, LCN and the ACK request only (MiddleHeader), and their payload follows
// from one span of memory, so the header, the lane and the memory are looked up once for all of
// them. Whether a cell may go, and what is recorded of it, is up to the requester. All is inlined
// into its one caller. Thread: the data thread. docs/protocol/transport.md
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "fabric_emul/mem/mrwt.h"
#include "fabric_emul/transport/qp_context.h"
#include "fabric_emul/transport/send_cell.h"
#include "fabric_emul/transport/send_wqe.h"

namespace splitnic::fabric {

// The memory of the cells of `w` from `csn` on, up to the end of the piece of the gather list that
// holds the first of them. Empty where the table refuses the piece or it does not lie in one span.
inline base::Bytes run_memory(const QpContext& context, const SendWqe& w, std::uint32_t csn) {
  std::uint64_t offset = std::uint64_t{csn} * context.attr.mcp;
  for (const Sge& piece : w.gather.span()) {
    if (offset >= piece.length) {
      offset -= piece.length;
      continue;
    }
    const AccessResult from = context.mrwt.access(piece.lkey, piece.address, piece.length,
                                                  AccessKind::kLocalRead, context.pd, context.qpn);
    if (!from.ok() || from.run < piece.length) return {};
    return {from.at + offset, static_cast<std::size_t>(piece.length - offset)};
  }
  return {};
}

class WriteRun {
 public:
  // `like`: the header of the first cell. `memory`: from run_memory(); it, the key that leads to it
  // and the link stay as they are while the run lasts.
  WriteRun(Link& link, const MacHeader& like, base::Bytes memory, std::size_t cell_payload)
      : link_(link),
        header_(like),
        lane_(link.lane_of(like.sl)),
        memory_(memory),
        cell_payload_(cell_payload) {}

  // Sends the next cell and returns its bytes, or 0 when the link has no room now. REQUIRES that
  // the memory of a whole cell is left.
  std::size_t send(std::uint16_t csn, Lcn lcn, std::uint8_t flags) {
    const std::size_t bytes =
        send_middle_cell(link_, lane_, header_, csn, lcn, flags, memory_.first(cell_payload_));
    if (bytes > 0) memory_ = memory_.subspan(cell_payload_);
    return bytes;
  }

 private:
  Link& link_;
  const MiddleHeader header_;
  const std::uint8_t lane_;
  base::Bytes memory_;
  const std::size_t cell_payload_;
};

}  // namespace splitnic::fabric
