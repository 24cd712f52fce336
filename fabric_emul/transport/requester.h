// The sending engine of one queue pair: work requests -> cells, acknowledgements -> completions.
//
// The flow: post() -> transmit() (due read requests, then lost cells, then fresh ones, within the
// congestion window, the receive credits and the limit of outstanding packets) -> on_ack(),
// on_nak(), on_response() -> on_time(). Cells are never stored: a retransmitted cell is made from
// its work queue element once more, so the memory of the gather list must stay unchanged until the
// completion. UC and UD complete when the last cell is on the wire [S001-30].
//
// Each part has its own object: SendQueue numbers the work requests, ReceiveCredits and Congestion
// limit what is sent, CellRecords knows the cells in flight and their losses, RetransmitTimer and
// RnrWait when to try again, ReadTracker the outstanding responses, LocalOperations the work that
// sends nothing, SendFailures the work requests that have failed. check_post() decides what is
// taken. The requester decides what happens next; on RD RdRequester does. Files: requester.cc
// posts, completes and fails, requester_send.cc makes cells, requester_run.cc those of a long RDMA
// write in runs, requester_ack.cc takes replies and timeouts, requester_raw.cc has what only Raw
// does. Thread: the data thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/status.h"
#include "fabric_emul/transport/cell_records.h"
#include "fabric_emul/transport/congestion.h"
#include "fabric_emul/transport/local_operations.h"
#include "fabric_emul/transport/path_choice.h"
#include "fabric_emul/transport/qp_context.h"
#include "fabric_emul/transport/read_tracker.h"
#include "fabric_emul/transport/receive_credits.h"
#include "fabric_emul/transport/retransmit_timer.h"
#include "fabric_emul/transport/rnr_wait.h"
#include "fabric_emul/transport/send_failures.h"
#include "fabric_emul/transport/send_queue.h"
#include "fabric_emul/wire/cell.h"

namespace splitnic::fabric {

// The place of a cell in the order of an end-to-end context.
struct EePlace {
  Psn psn;
  std::uint32_t csn = 0;
  std::uint32_t context = 0;  // its number at the receiving node
  std::uint8_t flags = 0;
};

struct RequesterLimits {
  std::size_t depth = 256;                             // work requests
  std::uint64_t window_bytes_max = 2 << 20;            // half of the peer's receive buffer
  base::Duration fixed_rto{0};                         // tests: no adaptation
  base::Duration stall_min = std::chrono::seconds(5);  // no failure before this without progress
};

class Requester {
 public:
  struct Wqe : SendWqe {
    AtomicExt fetch_op;
    Lid destination_lid;
    Qpn destination_qpn;
    EeId destination_ee;
    std::uint16_t mcp = 0;  // bytes of a full cell: of the path, on RD of the context
    VaMh region{};          // that it registers
    std::uint32_t region_at = 0;
    bool is_registered = false;
    Lcn first_lcn;
    PacketCrc crc;
    std::uint32_t crc_cells = 0;  // cells that the packet CRC covers so far
    Lcn end_lcn() const { return first_lcn + cells; }
  };

  Requester(QpContext& context, const RequesterLimits& limits);
  // At most.
  static std::size_t table_bytes(Service service, const RequesterLimits& limits);
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;

  // Refused (nothing changed): too many pieces, queue full, a packet or a response longer than
  // 65536 cells or 2^31 bytes, and what check_post() refuses.
  base::Status post(const SendWr& wr);
  // Posts a kRegister or kRegisterSend and returns the key, which works in every work request
  // behind it [S002-30]. Refused (nothing changed) as post() is and as a registration is, and where
  // the message has no room at region_at or no table entry is left.
  base::Result<MemoryHandle> post_register(const SendWr& wr, const NewRegion& region);
  // RTR -> RTS: sequence numbers begin at the attributes' start values. Allocates.
  void start(std::uint16_t receive_credits);
  // The attributes have changed. May allocate.
  void on_modified() { reads_.reserve(context_.attr.max_rd_atomic); }
  // Sends at most cells_max cells, into the link or those of the path set; returns how many.
  unsigned transmit(Link& link, base::Time now, unsigned cells_max);
  // Nothing comes any more of what is in flight by these paths.
  void lose_paths(PathMask paths) { records_.lose_paths(paths); }
  void on_ack(const AckExt& ack, base::Time now);
  void on_nak(const CellView& cell, const AckExt& ack, base::Time now);
  // A cell of RDMA_READ_RESP or FETCHOP_RESP.
  void on_response(const CellView& cell, base::Time now);
  void on_time(base::Time now);
  // The link was down and is up again: the tries that were made meanwhile do not count.
  void on_link_back(base::Time now) { timer_.on_progress(now); }
  base::Time deadline() const;
  // Completes everything that is queued as flushed, except a work request whose failure is
  // recorded: that one completes with its own status.
  void flush();

  // -- for RdRequester, which sends the oldest work request only --
  // Runs what sends nothing and comes first. Returns the next work request, or null if there is
  // none or it may not start now.
  const Wqe* next_startable(base::Time now);
  const Wqe& front() const { return queue_.front(); }
  // Sends the cell of the oldest work request that `place` describes. Returns its bytes, or 0 when
  // the link has no room now or the local memory failed its checks.
  std::size_t emit_front(Link& link, const EePlace& place);
  // Its first cell was sent for the first time.
  void start_front();
  // It waits in the queue as if it had not been sent. Returns false, and it stays as it is, when it
  // has met RNR too often.
  bool return_front(base::Duration wait, base::Time now);
  void finish_front(WcStatus status);

  // Returns the destination of the next fresh packet of a connectionless queue. REQUIRES
  // has_unsent().
  Lid next_destination() { return queue_.next().destination_lid; }
  // Connectionless services: the next work request sends nothing. REQUIRES has_unsent().
  bool is_local_next() { return is_local(queue_.next().op); }
  // Runs it. Returns false when it waits or has failed.
  bool run_next_local(base::Time now) { return run_local(now); }
  // Raw, requester_raw.cc: sends the next datagram. Returns false when the link has no room now, or
  // when it is no IPv6 datagram; then the send queue ends.
  bool send_raw(Link& link);
  // Completes a connectionless packet that no link leads to without sending it, as the service
  // allows. Its region is made all the same, because work requests behind it may use the key
  // [S002-30]. Returns false when the table refuses that.
  bool drop_next() {
    Wqe& w = queue_.next();
    if (w.op == WrOp::kRegisterSend && !w.is_registered && !make_region(w)) return false;
    context_.counters.add(TransportCounter::kDropNoLink);
    queue_.advance();
    complete_front(WcStatus::kSuccess);
    return true;
  }
  bool has_unsent() const {
    return records_.lost_count() > 0 || queue_.has_unsent() || reads_.has_request_due();
  }
  // Every work request that was started is complete; the others wait.
  bool is_drained() const {
    return !failures_.is_pending() && !local_.is_delaying() &&
           (queue_.empty() || !queue_.front().is_started);
  }
  // A work request has failed and those before it are not complete.
  bool is_ending() const { return failures_.is_pending(); }
  Psn next_psn() const { return next_psn_; }
  std::size_t queued() const { return queue_.size(); }
  std::size_t depth() const { return queue_.capacity(); }
  std::uint64_t bytes_in_flight() const { return records_.bytes_in_flight(); }
  const Congestion& congestion() const { return congestion_; }

 private:
  // requester.cc
  void cut_for_context(Wqe& w) const;
  void complete_front(WcStatus status);
  void complete_acknowledged();
  void fail(WcStatus status);
  void fail_at(std::uint64_t no, WcStatus status);
  void fail_local_work(std::uint64_t no);
  void fail_registration(std::uint64_t no, WcStatus status);
  void end_drained(WcStatus status);

  // requester_send.cc
  unsigned send_due_requests(Link& link, base::Time now, unsigned cells_max);
  bool retransmit_lost(Link& link, base::Time now);
  bool send_fresh(Link& link, base::Time now);
  Link& choose_path(Link& link, base::Time now);
  bool may_try_another_path() const {
    const PathSet& set = context_.paths;
    return set.spans() && !set.is_ready(paths_.path()) && set.is_any_ready();
  }
  bool run_local(base::Time now);
  bool make_region(Wqe& w);
  bool may_start(Wqe& w);
  bool window_has_room(std::uint64_t wire_bytes) const;
  bool wants_ack(const Wqe& w, std::uint32_t csn) const;
  // Returns the share of the congestion window of a cell of this length: the receiver's buffer
  // spends at least this much on a datagram, however small it is.
  static constexpr std::uint32_t counted_bytes(std::size_t cell_bytes) {
    return static_cast<std::uint32_t>(std::max<std::size_t>(cell_bytes, 1024));
  }
  void open_read(const Wqe& w, base::Time now);
  void fill_header(MacHeader& h, const Wqe& w, std::uint32_t csn, const Link& link,
                   std::uint8_t flags) const;
  std::size_t emit(Link& link, std::uint64_t no, std::uint32_t csn, std::uint8_t flags);
  std::size_t emit_request(Link& link, const Wqe& w, std::uint32_t from, std::uint8_t flags);
  std::size_t emit_raw(Link& link, std::uint64_t no);

  // requester_run.cc
  bool is_in_run() const;
  unsigned send_run(Link& link, base::Time now, unsigned cells_max);

  // requester_ack.cc
  bool advance(Lcn cumulative, base::Time now);
  // Returns how much later a cell of another path is sent that shows the loss of one; 0: none does.
  base::Duration overtaken_after() const;
  void on_losses(const CellRecords::Losses& losses, base::Time now);
  void on_silent(PathMask paths, base::Time now) {
    if (context_.link != nullptr) context_.paths.on_silent(paths, now);
  }
  void skip_arrived(std::uint32_t cells);
  bool go_back_to_packet(const CellView& cell, const AckExt& ack);
  std::optional<std::uint64_t> refused_by(Psn psn, AckCode code);
  std::uint32_t acknowledged_cells(const Wqe& w) const;
  void on_rnr(const AckExt& ack, base::Time now);
  void place_response(ReadSink& sink, const CellView& cell, base::Time now);
  void reject_response(ReadSink& sink);
  void restart_sending();
  void on_cell_timeout(base::Time now);
  bool on_response_timeout(base::Time now);
  bool has_given_up(base::Time now);

  QpContext& context_;
  RequesterLimits limits_;
  SendQueue<Wqe> queue_;
  CellRecords records_;
  ReceiveCredits credits_;
  Congestion congestion_;
  PathChoice paths_;       // one but for RC
  RetransmitTimer timer_;  // of the oldest cell in flight
  ReadTracker reads_;
  LocalOperations local_;
  std::uint64_t una_no_ = 0;    // oldest work request whose cells are not all acknowledged
  std::uint32_t next_csn_ = 0;  // of the work request that is sent next
  Psn next_psn_;
  std::uint32_t cells_since_ack_request_ = 0;
  RnrWait rnr_;
  SendFailures failures_;
  CellHead head_;  // scratch of emit(): fields that it does not set keep their defaults
};

}  // namespace splitnic::fabric
