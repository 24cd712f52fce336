// The half of a STREAM queue pair that receives: the place of cells in the stream, their checks,
// their placement, and the order of packets.
//
// Order of checks for a cell (StreamQp has checked identity and state): its place in the stream,
// the operation, its length, its order in the packet, the access, table D. Nothing changes before
// all of them have passed. A tagged cell may be placed early; its packet continues when the stream
// has caught up. A refused cell ends the stream (StreamContext::fail). Files: stream_receiver.cc
// takes cells and catches up, stream_place.cc checks and places. Thread: the data thread.
// docs/protocol/stream.md
#pragma once

#include <optional>

#include "base/status.h"
#include "fabric_emul/stream/read_queue.h"
#include "fabric_emul/stream/receive_window.h"
#include "fabric_emul/stream/stream_context.h"
#include "fabric_emul/stream/stream_sender.h"
#include "fabric_emul/transport/receive_queue.h"

namespace splitnic::fabric {

struct StreamReceiveLimits {
  std::size_t depth = 256;               // receives
  std::uint32_t window_bytes = 1 << 20;  // W
};

class StreamReceiver {
 public:
  StreamReceiver(StreamContext& context, StreamSender& sender, ReadQueue& reads,
                 const StreamReceiveLimits& limits);

  base::Status post(const RecvWr& wr, base::Time now);
  // Allocates.
  void start(StreamNumber first, Psn psn);
  // A cell other than ACK, NAK and TERMINATE; `bytes` is its size.
  void on_cell(const CellView& cell, std::uint32_t bytes, base::Time now);
  // Sends the ACKs that the batch made due.
  void end_batch();
  // Sends an ACK whose next expected byte is `next`. Returns false when the link has no room now.
  bool send_ack(StreamNumber next);
  void flush();

  const ReceiveWindow& window() const { return window_; }
  std::uint16_t receive_credits() const { return rq_.credits(); }

 private:
  // The packet whose cells are being taken in order.
  struct Open {
    bool is_active = false;
    Op op = Op::kSend;
    Psn psn;
    std::uint32_t next_csn = 0;
    std::optional<std::uint32_t> idata;
    VirtualAddress start;
  };

  // stream_receiver.cc
  void take_in_order(const CellView& cell, std::uint32_t bytes, base::Time now);
  void take_early(const CellView& cell, std::uint32_t bytes);
  void catch_up(base::Time now);
  bool follows(const MacHeader& h, const std::optional<std::uint32_t>& idata) const;
  bool lacks_receive(const MacHeader& h, const std::optional<std::uint32_t>& idata) const;
  void finish(const MacHeader& h, const VaMh& va_mh, const std::optional<std::uint32_t>& idata,
              MemoryHandle ended, std::uint32_t bytes, base::Time now);
  void complete_receive(const MacHeader& h, WcStatus status, MemoryHandle ended = {});
  // stream_place.cc
  bool is_taken_here(const CellView& cell) const;
  bool has_legal_length(const CellView& cell) const;
  bool is_read_response(const CellView& cell) const;
  bool place_tagged(const CellView& cell, StreamPlace place, StreamNumber last_byte, bool& touches);
  bool place_send(const CellView& cell);
  bool take_read_request(const CellView& cell, base::Time now);
  bool deregister_for(const CellView& cell);
  bool refuse(const CellView& cell, TerminateCause cause);
  bool refuse_access(const CellView& cell, const VaMh& range, AccessCheck check);

  StreamContext& context_;
  StreamSender& sender_;
  ReadQueue& reads_;
  StreamReceiveLimits limits_;
  ReceiveWindow window_;
  ReceiveQueue rq_;
  Open open_;
  Psn expected_psn_;
  Psn last_psn_;  // of the last cell in order
  std::uint16_t last_csn_ = 0;
  std::uint32_t packets_ = 0;  // completed
  unsigned acks_due_ = 0;
};

}  // namespace splitnic::fabric
