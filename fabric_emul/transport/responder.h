// The receiving engine of one queue pair: cells -> memory and completions, then ACK or NAK.
//
// RC takes cells strictly in LCN order; a cell that comes early waits in the reorder buffer
// (selective repeat) or is refused once with NAK 0x60 (go-back-N). UC takes them in PSN and CSN
// order and drops a packet with a hole; UD takes single cells. The order of checks is sequence,
// operation, length, memory a..f, receive work request; the first that fails decides the reply
// [S004-05]. A refused cell changes no memory. Files: responder.cc orders cells,
// responder_execute.cc checks and places them, ack_schedule.h decides when an ACK leaves and
// responder_reply.cc sends it, responder_response.cc serves RDMA reads and FetchOps,
// responder_run.cc takes the cells of a long RDMA write in runs, responder_rd.cc and
// responder_raw.cc have what only those services do.
// Thread: the data thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "fabric_emul/link/received_cells.h"
#include "fabric_emul/transport/ack_schedule.h"
#include "fabric_emul/transport/open_packet.h"
#include "fabric_emul/transport/qp_context.h"
#include "fabric_emul/transport/rd_message.h"
#include "fabric_emul/transport/receive_queue.h"
#include "fabric_emul/transport/reorder_buffer.h"
#include "fabric_emul/transport/response_queue.h"
#include "fabric_emul/wire/cell.h"

namespace splitnic::fabric {

struct ResponderLimits {
  std::size_t depth = 256;  // receive work requests
  std::size_t reorder_bytes_max = 2 << 20;
  base::Duration ack_delay = std::chrono::microseconds(50);
  unsigned bitmap_words_max = kAckBitmapWordsMax;
};

// The result of a cell on RD: that of its message, or the progress of one that continues.
struct RdResult {
  AckCode code = AckCode::kAck;
  std::uint16_t detail = 0;
  std::uint16_t receive_credits = 0;
  bool has_response = false;
  bool is_whole = true;  // false: the message has more cells
};

class Responder {
 public:
  Responder(QpContext& context, const ResponderLimits& limits);
  // Returns the most bytes that its tables take, without the cells in the reorder buffer.
  static std::size_t table_bytes(Service service, const ResponderLimits& limits);

  base::Status post(const RecvWr& wr) { return rq_.post(wr); }
  // INIT -> RTR: expected numbers begin at the attributes' start values.
  void start();
  // One cell of this queue pair. `raw` are its bytes, which are copied when it came early.
  void on_cell(const CellView& cell, base::Bytes raw, base::Time now);
  // Takes those of `cells` that continue the open RDMA write as predicted, and returns how many; 0
  // if the first is for on_cell(). `before` is the header of the cell before them in the batch,
  // which came from the peer of this queue pair. The effect is that of on_cell() for each of them.
  std::size_t take_run(std::span<const ReceivedCell> cells, const MacHeader& before,
                       base::Time now);
  // A cell for this queue pair whose CRC is right and whose format is not.
  void on_malformed(const MacHeader& header);
  // RD, responder_rd.cc: the next cell of an end-to-end context, whose message is `message`. A
  // response's payload is left in `response`.
  RdResult take_rd(const CellView& cell, RdMessage& message, std::vector<std::byte>& response);
  // Drops what has come of the message; its receive is posted once more.
  void drop_rd(RdMessage& message);
  // Raw, responder_raw.cc.
  void on_raw(const CellView& cell);
  // After a batch: sends the NAK or ACK that is due.
  void end_batch(base::Time now);
  base::Time deadline() const { return ack_schedule_.deadline(); }
  void flush();

  std::uint16_t receive_credits() const { return rq_.credits(); }
  // Cells of a packet were placed, and its last is still to come.
  bool is_receiving() const { return open_.is_active; }
  // RDMA writes that are whole in memory, whether or not their completions were polled.
  std::uint64_t writes_completed() const { return writes_completed_; }
  std::size_t posted() const { return rq_.size(); }
  Psn expected_psn() const { return expected_psn_; }
  bool has_nak_due() const { return nak_.has_value(); }
  bool has_reply_due() const { return nak_.has_value() || ack_schedule_.is_pending(); }
  // Sends at most cells_max cells of responses; returns how many.
  unsigned send_responses(base::Time now, unsigned cells_max);
  bool has_responses_due() const { return responses_.has_due(); }

 private:
  using Open = OpenPacket;
  struct Nak {
    AckCode code = AckCode::kAck;
    Psn psn;
    std::uint16_t csn = 0;
    std::uint16_t detail = 0;
  };
  // Sub-codes of NAK 0x61, for readers of captures.
  enum : std::uint16_t {
    kSubSequence = 1,
    kSubOperation = 2,
    kSubLength = 3,
    kSubRdma = 4,
    kSubIdata = 5,
    kSubFormat = 6,
    kSubReads = 7,
  };
  // The fate of a cell: taken, refused with a NAK, or silently dropped (UC, UD).
  enum class Step : std::uint8_t { kTaken, kNak, kDrop };

  // responder.cc
  std::int32_t distance_of(const MacHeader& h) const;
  void on_rc(const CellView& cell, base::Bytes raw, base::Time now);
  void on_uc(const CellView& cell);
  void on_ud(const CellView& cell);
  void begin_single(const CellView& cell);
  void take_datagram(const CellView& cell);
  void take_datagram_write(const CellView& cell);
  bool take_rc(const CellView& cell, base::Time now);
  void keep_early(const CellView& cell, base::Bytes raw, std::size_t distance);
  // responder_run.cc
  bool is_in_run() const;
  base::MutableBytes run_memory() const;
  void finish_run(std::uint32_t cells, base::Time now);
  // responder_execute.cc
  Step execute(const CellView& cell);
  Step check_sequence(const CellView& cell);
  Step check_length(const CellView& cell);
  Step place(const CellView& cell);
  Step place_send(const CellView& cell, std::uint64_t offset);
  Step place_write(const CellView& cell, std::uint64_t offset, base::MutableBytes checked);
  Step finish_packet(const CellView& cell);
  Step touch(const CellView& cell);
  Step deregister_for(const CellView& cell);
  void open_packet(const CellView& cell);
  void complete_receive(const CellView& cell, WcStatus status);
  Step refuse(const CellView& cell, AckCode code, std::uint16_t detail);
  void refuse_sequence();
  // A NAK that ends the queue pair is due: no cell is taken any more.
  bool is_refusing() const {
    return nak_ && nak_->code != AckCode::kRnr && nak_->code != AckCode::kSequence;
  }
  // responder_response.cc
  Step check_request(const CellView& cell);
  Step execute_request(const CellView& cell);
  void retransmit_response(const CellView& cell);
  std::uint64_t fetch(const CellView& cell);
  bool send_response(Response& response, base::Time now);
  unsigned path_of_response(const Response& response, base::Time now) const;
  // responder_rd.cc
  Step execute_rd(const CellView& cell, const RdMessage& message);
  Step respond_rd(const CellView& cell, std::vector<std::byte>& response);
  void forget_responses();
  bool copy_out(const Response& response, std::uint64_t offset, base::MutableBytes to);
  std::uint32_t range_crc(const Response& response) const;
  // responder_reply.cc
  bool send_reply(const Nak* nak);
  void fill_ack(AckExt& ack) const;

  // Bytes of a full cell.
  std::size_t full_cell_bytes() const {
    return message_ == nullptr ? context_.attr.mcp : message_->mcp;
  }
  // The receive that a Send fills. REQUIRES one that is posted or claimed.
  const RecvWqe& receive() {
    return message_ != nullptr && message_->receive ? *message_->receive : rq_.front();
  }
  void pop_receive();

  QpContext& context_;
  ResponderLimits limits_;
  ReceiveQueue rq_;
  std::unique_ptr<ReorderBuffer> early_;  // created when the first cell comes early
  Open open_;
  RdMessage* message_ = nullptr;  // RD, while one of its cells is taken
  ResponseQueue responses_{0};
  Psn expected_psn_;
  std::uint32_t expected_csn_ = 0;
  Lcn expected_lcn_;
  std::uint32_t msn_ = 0;  // completed packets
  std::uint64_t writes_completed_ = 0;
  Psn last_psn_;  // last cell taken in order, for W4/W5 of the ACK
  std::uint16_t last_csn_ = 0;
  AckSchedule ack_schedule_;
  bool is_nak_sent_ = false;        // one NAK per gap
  bool is_packet_refused_ = false;  // a whole packet was refused; its first cell is expected
  bool is_skipping_ = false;        // UC: cells are dropped up to the next first one
  std::optional<Nak> nak_;
  std::vector<std::byte> datagram_;  // Raw: scratch
};

}  // namespace splitnic::fabric
