// A run (write_run.h) of the RDMA write that is being sent: it asks once for what send_fresh() asks
// for each cell: the work request, the service, the local memory.
//
// Invariant: between two cells of a run nothing else happens. No acknowledgement, no timer and no
// call of the owner comes in, so what held at its first cell holds at its last: the local key, the
// destination, the congestion window, no loss. What changes with each cell (room in the window, in
// the records and on the link; the ACK request) is asked for each cell. A run sends the bytes and
// leaves the state that send_fresh() would, and everything that is no run goes through
// send_fresh().
#include <algorithm>

#include "fabric_emul/transport/requester.h"
#include "fabric_emul/transport/write_run.h"

namespace splitnic::fabric {

// Whether cell next_csn_ is a middle cell of an RDMA write that is sent for the first time.
bool Requester::is_in_run() const {
  if (!context_.predicts_headers || context_.service != Service::kRc || context_.sets_packet_crc ||
      context_.attr.ack_interval <= 1 || next_csn_ == 0 || context_.fault) {
    return false;
  }
  if (!queue_.has_unsent() || failures_.stops(queue_.next_no())) return false;
  if (records_.lost_count() > 0 || records_.repeats_next()) return false;
  const Wqe& w = queue_[queue_.next_no()];
  return w.op == WrOp::kRdmaWrite && w.is_started && next_csn_ + 1 < w.cells;
}

unsigned Requester::send_run(Link& link, base::Time now, unsigned cells_max) {
  if (cells_max == 0 || !is_in_run()) return 0;
  const std::uint64_t no = queue_.next_no();
  const Wqe& w = queue_.next();
  const base::Bytes memory = run_memory(context_, w, next_csn_);
  const std::size_t mcp = context_.attr.mcp;
  const std::size_t cells =
      std::min<std::size_t>({cells_max, w.cells - 1 - next_csn_, memory.size() / mcp});
  if (cells == 0) return 0;
  MacHeader like;
  fill_header(like, w, next_csn_, link, 0);
  WriteRun run(link, like, memory, mcp);
  const std::uint64_t wire = mcp + std::uint64_t{kStrideOverhead};
  unsigned sent = 0;
  std::size_t bytes = 0;
  for (; sent < cells && !records_.full() && window_has_room(wire); ++sent) {
    const bool asks = wants_ack(w, next_csn_);
    bytes = run.send(static_cast<std::uint16_t>(next_csn_), w.first_lcn + next_csn_,
                     asks ? kFlagAckRequest : std::uint8_t{0});
    if (bytes == 0) break;
    cells_since_ack_request_ = asks ? 0 : cells_since_ack_request_ + 1;
    records_.push(no, next_csn_, counted_bytes(bytes), now, paths_.path());
    context_.count_sent(bytes);
    ++next_csn_;
  }
  context_.counters.add(TransportCounter::kTxPredicted, sent);
  if (sent > 0 && !timer_.is_armed()) timer_.arm(now, congestion_.rto());
  return sent;
}

}  // namespace splitnic::fabric
