// The sending engine of one queue pair: work requests -> cells, acknowledgements -> completions.
//
// The flow, in the order of the functions: post -> transmit (lost cells first, then fresh ones,
// inside the congestion window, the receive credits and the limit of outstanding packets) -> on_ack
// / on_nak -> on_time. Cells are never kept: each is made again from its work queue element, so the
// gather list's memory must stay unchanged until the completion. RC keeps one record per cell in
// flight, in LCN order; UC and UD complete when the last cell is on the wire [S001-30]. Files:
// requester.cc makes cells, completer.cc takes replies, retransmit.cc decides what to send again,
// requester_read.cc asks for answers and places them, requester_local.cc does what sends nothing,
// requester_register.cc makes regions.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/ring.h"
#include "base/status.h"
#include "fabric_emul/transport/congestion.h"
#include "fabric_emul/transport/qp_context.h"
#include "fabric_emul/transport/read_sink.h"
#include "fabric_emul/transport/work_request.h"
#include "fabric_emul/wire/cell.h"

namespace splitnic::fabric {

struct RequesterLimits {
  std::size_t depth = 256;                             // work requests
  std::uint64_t window_bytes_max = 2 << 20;            // half of the peer's receive buffer
  base::Duration fixed_rto{0};                         // tests: no adaptation
  base::Duration stall_min = std::chrono::seconds(5);  // no failure before this without progress
};

class Requester {
 public:
  Requester(QpContext& context, const RequesterLimits& limits);
  ~Requester() { forget_local_work(); }
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;

  // Refused (nothing changed): too many pieces, queue full, a packet or an answer longer than 65536
  // cells or 2^31 bytes, a connectionless post without destination or longer than one cell
  // [S001-32] [S001-34], an RDMA read or FetchOp where the service or the peer has none.
  base::Status post(const SendWr& wr);
  // Posts a kRegister or kRegisterSend and gives the key, which works in every work request behind
  // it [S002-30]. Refused (nothing changed) as post() is and as a registration is, and where the
  // message has no room at region_at or no table entry is left.
  base::Result<MemoryHandle> post_register(const SendWr& wr, const NewRegion& region);
  // RTR -> RTS: sequence numbers begin at the attributes' start values. Allocates.
  void start(std::uint16_t receive_credits);
  // The attributes have changed.
  void on_modified();
  // Sends at most cells_max cells into the link; returns how many.
  unsigned transmit(Link& link, base::Time now, unsigned cells_max);
  void on_ack(const AckExt& ack, base::Time now);
  void on_nak(const CellView& cell, const AckExt& ack, base::Time now);
  // A cell of RDMA_READ_RESP or FETCHOP_RESP.
  void on_response(const CellView& cell, base::Time now);
  void on_time(base::Time now);
  // The peer was heard again on a link that was down: what was tried meanwhile says nothing of it.
  void on_link_back(base::Time now) {
    tries_ = 0;
    progress_at_ = now;
  }
  base::Time deadline() const;
  // Completes everything that is queued as flushed; the one whose local memory failed says so.
  void flush();

  // Where the next fresh packet of a connectionless queue goes. REQUIRES has_unsent().
  Lid next_destination() { return wqe(send_no_).destination_lid; }
  // A connectionless packet that no link leads to is sent into the void, as the service allows.
  void drop_next() {
    ++send_no_;
    complete_front(WcStatus::kSuccess);
  }
  bool has_unsent() const { return lost_count_ > 0 || send_no_ != tail_no_ || asks_again(); }
  // What was begun is complete; what was not waits.
  bool is_drained() const {
    return !ending_ && delay_until_ == base::kNever && (sq_.empty() || !sq_[0].started);
  }
  // A work request has failed and those before it are not complete.
  bool is_ending() const { return ending_.has_value(); }
  Psn next_psn() const { return next_psn_; }
  std::size_t queued() const { return sq_.size(); }
  std::size_t depth() const { return sq_.capacity(); }
  std::uint64_t bytes_in_flight() const { return in_flight_bytes_; }
  const Congestion& congestion() const { return congestion_; }

 private:
  struct Wqe {
    std::uint64_t wr_id = 0;
    WrOp op = WrOp::kSend;
    SgeList gather;
    VirtualAddress remote_address;
    MemoryHandle remote_handle;
    std::optional<std::uint32_t> idata;
    MemoryHandle dereg;
    AtomicExt fetch_op;
    bool is_fenced = false;
    Lid destination_lid;
    Qpn destination_qpn;
    std::uint32_t cells = 1;
    VaMh region{};  // that it makes
    std::uint32_t region_at = 0;
    bool is_registered = false;
    bool started = false;  // psn and first_lcn are assigned
    Psn psn;
    Lcn first_lcn;
    PacketCrc crc;
    std::uint32_t crc_cells = 0;  // cells that the packet CRC covers so far
    bool consumes_receive() const {
      return op == WrOp::kSend || op == WrOp::kSendDereg || op == WrOp::kRegisterSend ||
             idata.has_value();
    }
  };
  enum class CellState : std::uint8_t { kInFlight, kAcked, kLost };
  struct Record {
    std::uint64_t wqe_no = 0;
    std::uint64_t tx_no = 0;  // order of transmission, for loss detection
    base::Time sent_at{};
    std::uint32_t wire_bytes = 0;
    std::uint32_t csn = 0;
    CellState state = CellState::kInFlight;
    bool again = false;  // sent more than once: no RTT sample
  };

  // A work request that failed while some before it are not complete.
  struct Ending {
    std::uint64_t no = 0;
    WcStatus status = WcStatus::kSuccess;
    bool is_drain = false;  // the queue pair goes on
  };
  struct Registration {
    MemoryHandle handle;
    NewRegion region;
  };

  Wqe& wqe(std::uint64_t no) { return sq_[static_cast<std::size_t>(no - head_no_)]; }
  // requester.cc
  bool send_fresh(Link& link, base::Time now);
  bool may_start(const Wqe& w);
  bool local_access_ok(const Wqe& w) const;
  void fail_local(std::uint64_t no);
  bool window_has_room(std::uint64_t wire_bytes) const;
  bool wants_ack(const Wqe& w, std::uint32_t csn) const;
  std::size_t emit(Link& link, std::uint64_t no, std::uint32_t csn, bool again, bool ask_ack);
  MacHeader header_of(const Wqe& w, std::uint32_t csn, const Link& link) const;
  // requester_local.cc
  const char* local_refused(const SendWr& wr) const;
  std::optional<WcStatus> execute(WrOp op, const LocalWork& work);
  bool run_local(base::Time now);
  void fail_work(std::uint64_t no, WcStatus status);
  // requester_register.cc
  const char* announced_refused(const SendWr& wr, std::uint64_t region_bytes) const;
  bool register_now(std::uint64_t no);
  void end_drained(WcStatus status);
  static void announce_region(const Wqe& w, std::uint64_t offset, base::MutableBytes body);
  void forget_local_work();
  // requester_read.cc
  const char* response_refused(const SendWr& wr, std::uint64_t bytes) const;
  std::uint32_t response_cells(const Wqe& w) const;
  bool may_ask(const Wqe& w) const;
  void open_sink(std::uint64_t no, base::Time now);
  std::size_t emit_request(Link& link, const Wqe& w, std::uint32_t from, bool again, bool ask_ack);
  unsigned send_again(Link& link, base::Time now, unsigned cells_max);
  bool asks_again() const;
  ReadSink* sink_of(Psn psn);
  bool is_part_of_response(const CellView& cell, const ReadSink& sink);
  void take_response(ReadSink& sink, const CellView& cell, base::Time now);
  void refuse_response(ReadSink& sink);
  base::Time responses_deadline() const;
  bool ask_late(base::Time now);
  void end_at(std::uint64_t no, WcStatus status);
  // completer.cc
  bool advance(Lcn cumulative, base::Time now);
  bool tells_rtt(const Record& r) const { return !r.again && r.sent_at > timeout_at_; }
  void pop_acknowledged(std::size_t count, base::Time now);
  void skip_arrived();
  void apply_bitmap(const AckExt& ack, base::Time now);
  void complete_front(WcStatus status);
  void complete_acknowledged();
  bool takes_packet_again(const CellView& cell, const AckExt& ack);
  std::optional<std::uint64_t> refused_by(Psn psn);
  void on_rnr(const AckExt& ack, base::Time now);
  void fail(WcStatus status);
  // retransmit.cc
  bool resend_lost(Link& link, base::Time now);
  void mark_lost(Record& r, std::size_t index);
  void lose_front();
  void detect_losses(std::size_t upto);
  void go_back();
  void arm(base::Time now);

  QpContext& context_;
  RequesterLimits limits_;
  Congestion congestion_;
  base::Ring<Wqe> sq_;
  base::Ring<Record> records_;              // [una_lcn_, next_lcn_): sent and not acknowledged
  std::deque<LocalWork> local_work_;        // of local work requests that did not run yet
  std::deque<Registration> registrations_;  // that were not made yet
  base::Time delay_until_ = base::kNever;
  base::Ring<ReadSink> reads_;  // answers that are awaited, in the order of posts
  std::uint64_t head_no_ = 0;   // number of sq_.front()
  std::uint64_t una_no_ = 0;    // oldest whose cells are not all acknowledged
  std::uint64_t tail_no_ = 0;   // number that the next post gets
  std::uint64_t send_no_ = 0;   // next work request to send fresh, at cell send_csn_
  std::uint32_t send_csn_ = 0;
  Psn next_psn_;
  Lcn una_lcn_;  // oldest unacknowledged
  Lcn next_lcn_;
  Lcn sent_lcn_;  // behind the last one that was ever sent: next_lcn_ unless a go-back un-sent some
  std::uint64_t next_tx_no_ = 1;
  std::uint64_t acked_tx_no_ = 0;  // greatest tx_no known to have arrived
  std::uint64_t in_flight_bytes_ = 0;
  std::size_t lost_count_ = 0;
  std::size_t lost_hint_ = 0;  // no lost record before this index
  std::uint32_t cells_since_ask_ = 0;
  std::uint32_t receive_credits_ = 0;
  std::uint32_t consumers_outstanding_ = 0;
  base::Time rto_at_ = base::kNever;
  base::Time rnr_until_{};
  base::Time progress_at_{};
  base::Time timeout_at_{};  // the last one
  unsigned tries_ = 0;
  unsigned rnr_tries_ = 0;
  std::optional<Ending> ending_;
  CellHead head_;  // of the cell that is being made; what emit() does not set stays as it is here
  std::optional<Ending> failed_;  // what the flush says of the work request to blame
};

}  // namespace splitnic::fabric
