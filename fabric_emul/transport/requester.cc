#include "fabric_emul/transport/requester.h"

#include <algorithm>
#include <cerrno>

#include "fabric_emul/mem/placement.h"
#include "fabric_emul/transport/send_cell.h"
#include "fabric_emul/transport/service.h"

namespace splitnic::fabric {
namespace {

constexpr std::uint64_t kPacketCellsMax = 65536;  // CSN has 16 bits
// A small datagram costs the receiver's buffer this much.
constexpr std::uint64_t kDatagramCountedMin = 1024;

constexpr Op wire_op(WrOp op) {
  switch (op) {
    case WrOp::kSend:
    case WrOp::kRegisterSend:
      return Op::kSend;
    case WrOp::kSendDereg:
      return Op::kSendDereg;
    case WrOp::kRdmaWrite:
      return Op::kRdmaWrite;
    case WrOp::kRdmaRead:
      return Op::kRdmaReadReq;
    default:
      break;
  }
  return Op::kFetchOpReq;
}

}  // namespace

Requester::Requester(QpContext& context, const RequesterLimits& limits)
    : context_(context),
      limits_(limits),
      congestion_(limits.window_bytes_max),
      sq_(limits.depth),
      records_(1),
      reads_(1) {}

base::Status Requester::post(const SendWr& wr) {
  const auto refuse = [](const char* why, int code) -> base::Status {
    return base::Error(why, code);
  };
  if (sq_.full()) return refuse("the send queue is full", ENOMEM);
  Wqe w;
  if (!w.gather.assign(wr.gather)) return refuse("too many pieces in the gather list", EINVAL);
  const std::uint64_t mcp = context_.attr.mcp;
  const std::uint64_t cells = std::max<std::uint64_t>(1, (w.gather.bytes + mcp - 1) / mcp);
  if (cells > kPacketCellsMax || w.gather.bytes > kPacketBytesMax) {
    return refuse("the packet is too long", EMSGSIZE);
  }
  const bool connected = is_connected(context_.service);
  if (is_local(wr.op)) {
    if (const char* why = local_refused(wr); why != nullptr) return refuse(why, EINVAL);
  }
  if (!connected) {
    if (wr.destination_qpn.value == 0) {
      return refuse("a connectionless post needs a destination", EINVAL);
    }
    if (cells > 1) return refuse("longer than the one cell of a connectionless channel", EMSGSIZE);
    if (wr.op != WrOp::kSend) return refuse("RDMA is not allowed on this service", EINVAL);
  }
  if (wr.op == WrOp::kSendDereg && context_.service != Service::kRc) {
    return refuse("this service has no Send with deregister", EINVAL);
  }
  if (is_responded(wr.op)) {
    if (const char* why = response_refused(wr, w.gather.bytes); why != nullptr) {
      return refuse(why, EINVAL);
    }
  }
  w.wr_id = wr.wr_id;
  w.op = wr.op;
  w.remote_address = wr.remote_address;
  w.remote_handle = wr.remote_handle;
  w.idata = wr.idata;
  w.dereg = wr.dereg;
  w.fetch_op = wr.fetch_op;
  w.is_fenced = wr.is_fenced;
  w.destination_lid = connected ? context_.attr.remote_lid : wr.destination_lid;
  w.destination_qpn = connected ? context_.attr.remote_qpn : wr.destination_qpn;
  w.cells = is_local(wr.op) ? 0 : is_responded(wr.op) ? 1 : static_cast<std::uint32_t>(cells);
  if (is_local(wr.op) && !makes_region(wr.op)) local_work_.push_back(wr.local);
  sq_.push(w);
  ++tail_no_;
  return {};
}

void Requester::start(std::uint16_t receive_credits) {
  next_psn_ = context_.attr.send_psn;
  una_lcn_ = next_lcn_ = sent_lcn_ = context_.attr.send_lcn;
  receive_credits_ = receive_credits;
  cells_since_ask_ = 0;
  rnr_until_ = base::Time{};
  tries_ = rnr_tries_ = 0;
  if (!is_acknowledged(context_.service)) return;
  std::uint64_t window = limits_.window_bytes_max;
  if (context_.link != nullptr && context_.link->peer_receive_buffer() > 0) {
    window = std::min<std::uint64_t>(window, context_.link->peer_receive_buffer() / 2);
  }
  congestion_ = Congestion(window);
  if (limits_.fixed_rto > base::Duration{0}) congestion_.fix_rto(limits_.fixed_rto);
  // From the oldest cell to the newest, of which the peer's reorder buffer keeps what came early. A
  // lost cell is known to be here two round trips after it was sent first, three if it is lost
  // again.
  const std::size_t span = kSpanWindows * window / (context_.attr.mcp + kStrideOverhead);
  records_ = base::Ring<Record>(std::clamp<std::size_t>(span, 16, kWindowCells));
}

void Requester::on_modified() {
  if (context_.attr.max_rd_atomic <= reads_.capacity()) return;
  base::Ring<ReadSink> more(context_.attr.max_rd_atomic);
  for (; !reads_.empty(); reads_.pop()) more.push(std::move(reads_.front()));
  reads_ = std::move(more);
}

unsigned Requester::transmit(Link& link, base::Time now, unsigned cells_max) {
  unsigned sent = 0;
  if (!context_.fault) sent = send_again(link, now, cells_max);
  if (now < rnr_until_) return sent;
  while (sent < cells_max && !context_.fault && !context_.send_fault) {
    if (!(lost_count_ > 0 ? resend_lost(link, now) : send_fresh(link, now))) break;
    ++sent;
  }
  return sent;
}

// In flight: congestion window, which the peer's receive buffer bounds. One cell may always go.
bool Requester::window_has_room(std::uint64_t wire_bytes) const {
  return in_flight_bytes_ == 0 || in_flight_bytes_ + wire_bytes <= congestion_.window();
}

bool Requester::local_access_ok(const Wqe& w) const {
  const AccessKind kind = is_responded(w.op) ? AccessKind::kLocalWrite : AccessKind::kLocalRead;
  return std::ranges::all_of(w.gather.span(), [&](const Sge& piece) {
    return piece.length == 0 ||
           context_.mrwt
               .access(piece.lkey, piece.address, piece.length, kind, context_.pd, context_.qpn)
               .ok();
  });
}

// The queue pair leaves its working state; flush() tells which work request is to blame.
void Requester::fail_local(std::uint64_t no) {
  failed_ = Ending{no, WcStatus::kLocalProtection};
  if (is_acknowledged(context_.service)) {
    context_.fault = WcStatus::kLocalProtection;
  } else {
    context_.send_fault = true;
  }
}

// The first cell of a work request: local checks [S002-19], outstanding limit [S000-16], receive
// credits.
bool Requester::may_start(const Wqe& w) {
  if (!w.started && context_.state == QpState::kSqd) return false;
  if (is_acknowledged(context_.service)) {
    if (send_no_ - head_no_ >= context_.attr.max_outstanding) return false;
    // With nothing outstanding one may go: an ACK or an RNR NAK brings the credits up to date.
    if (w.consumes_receive() && consumers_outstanding_ > 0 &&
        consumers_outstanding_ >= receive_credits_) {
      return false;
    }
    if (!w.started && is_responded(w.op) && !may_ask(w)) return false;
    if (!w.started && w.is_fenced && !reads_.empty()) return false;
  }
  if (w.op == WrOp::kRegisterSend && !w.is_registered && !register_now(send_no_)) return false;
  if (local_access_ok(w)) return true;
  // Completions keep their order: the earlier ones first.
  if (send_no_ == head_no_) fail_local(send_no_);
  return false;
}

// Asked where sending has to stop and at each quarter of the window; K = 1: on every cell [3.2].
bool Requester::wants_ack(const Wqe& w, std::uint32_t csn) const {
  if (!is_acknowledged(context_.service)) return false;
  if (context_.attr.ack_interval <= 1) return true;
  const bool packet_ends = csn + 1 == w.cells;
  const std::uint64_t started = send_no_ + 1 - head_no_;
  if (packet_ends && (send_no_ + 1 == tail_no_ || started >= context_.attr.max_outstanding ||
                      (w.consumes_receive() && consumers_outstanding_ + 1 >= receive_credits_))) {
    return true;
  }
  const std::uint64_t wire = context_.attr.mcp + std::uint64_t{kStrideOverhead};
  const std::uint64_t quarter = std::max<std::uint64_t>(1, congestion_.window() / wire / 4);
  return cells_since_ask_ + 1 >= quarter || !window_has_room(2 * wire) ||
         records_.size() + 2 >= records_.capacity();
}

bool Requester::send_fresh(Link& link, base::Time now) {
  if (send_no_ == tail_no_ || (ending_ && send_no_ >= ending_->no)) return false;
  Wqe& w = wqe(send_no_);
  if (is_local(w.op)) return run_local(now);
  const bool acknowledged = is_acknowledged(context_.service);
  if (acknowledged &&
      (records_.full() || !window_has_room(std::uint64_t{context_.attr.mcp} + kStrideOverhead))) {
    return false;
  }
  if (send_csn_ == 0 && !may_start(w)) return false;
  if (!w.started) {
    w.psn = next_psn_;
    w.first_lcn = next_lcn_;
  }
  const bool ask = wants_ack(w, send_csn_);
  const bool again = before(next_lcn_, sent_lcn_);
  const std::size_t bytes = emit(link, send_no_, send_csn_, again, ask);
  if (bytes == 0) return false;
  if (!w.started) {
    ++next_psn_;
    if (is_responded(w.op)) open_sink(send_no_, now);
  }
  w.started = true;
  if (send_csn_ == 0 && w.consumes_receive()) ++consumers_outstanding_;
  if (acknowledged) {
    cells_since_ask_ = ask ? 0 : cells_since_ask_ + 1;
    const auto wire =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(bytes, kDatagramCountedMin));
    Record& record = records_.push_slot();
    record.wqe_no = send_no_;
    record.tx_no = next_tx_no_++;
    record.sent_at = now;
    record.wire_bytes = wire;
    record.csn = send_csn_;
    record.state = CellState::kInFlight;
    record.again = again;
    in_flight_bytes_ += wire;
    ++next_lcn_;
    if (!again) sent_lcn_ = next_lcn_;
    if (rto_at_ == base::kNever) arm(now);
  }
  if (++send_csn_ < w.cells) return true;
  send_csn_ = 0;
  ++send_no_;
  if (!acknowledged) complete_front(WcStatus::kSuccess);
  return true;
}

MacHeader Requester::header_of(const Wqe& w, std::uint32_t csn, const Link& link) const {
  MacHeader h = context_.header(wire_op(w.op), position_of(csn, w.cells), link);
  h.dlid = w.destination_lid;
  h.dqpn = w.destination_qpn;
  h.psn = w.psn;
  h.csn = static_cast<std::uint16_t>(csn);
  if (is_acknowledged(context_.service)) h.lcn = w.first_lcn + csn;
  if (!is_responded(w.op)) {
    const std::uint64_t offset = std::uint64_t{csn} * context_.attr.mcp;
    h.payload_bytes = static_cast<std::uint16_t>(
        std::min<std::uint64_t>(context_.attr.mcp, w.gather.bytes - offset));
  }
  const bool has_crc = context_.packet_crc && is_connected(context_.service);
  if (has_crc && is_last(h.pos)) h.flags = kFlagPacketCrc;
  return h;
}

// Sends cell `csn` of work request `no` and returns its bytes. Returns 0 when the link has no room,
// or when the local memory was deregistered meanwhile; then a fault is set.
std::size_t Requester::emit(Link& link, std::uint64_t no, std::uint32_t csn, bool again,
                            bool ask_ack) {
  Wqe& w = wqe(no);
  if (is_responded(w.op)) {
    if (again) context_.counters.add(TransportCounter::kTxRetransmit);
    return emit_request(link, w, 0, again, ask_ack);
  }
  CellHead& head = head_;
  head.header = header_of(w, csn, link);
  if (again) head.header.flags |= kFlagRetransmission;
  if (ask_ack) head.header.flags |= kFlagAckRequest;
  const bool last = is_last(head.header.pos);
  head.va_mh.reset();
  head.idata.reset();
  head.dereg.reset();
  if (w.op == WrOp::kRdmaWrite && csn == 0) {
    head.va_mh =
        VaMh{w.remote_address, w.remote_handle, static_cast<std::uint32_t>(w.gather.bytes)};
  }
  if (last) head.idata = w.idata;
  if (last && w.op == WrOp::kSendDereg) head.dereg = w.dereg.value;
  const std::uint64_t offset = std::uint64_t{csn} * context_.attr.mcp;
  const std::size_t total = send_cell(link, head, [&](CellRoom& room) {
    if (!gather(context_.mrwt, context_.pd, w.gather.span(), offset, room.payload).ok()) {
      fail_local(no);
      return false;
    }
    announce_region(w, offset, room.payload);
    if (!context_.packet_crc || !is_connected(context_.service)) return true;
    if (csn == w.crc_cells) {
      w.crc.add(packet_crc_ext(room.head, head), room.payload);
      ++w.crc_cells;
    }
    if (last) room.packet_crc = w.crc.value();
    return true;
  });
  if (total == 0) return 0;
  context_.count_sent(total);
  if (again) context_.counters.add(TransportCounter::kTxRetransmit);
  return total;
}

void Requester::flush() {
  while (!sq_.empty()) {
    complete_front(failed_ && failed_->no == head_no_ ? failed_->status : WcStatus::kFlushed);
  }
  failed_.reset();
  ending_.reset();
  forget_local_work();
  records_.clear();
  reads_.clear();
  una_no_ = head_no_;
  in_flight_bytes_ = 0;
  lost_count_ = lost_hint_ = 0;
  send_no_ = tail_no_;
  send_csn_ = 0;
  consumers_outstanding_ = 0;
  rto_at_ = base::kNever;
}

}  // namespace splitnic::fabric
