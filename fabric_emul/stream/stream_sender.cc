#include "fabric_emul/stream/stream_sender.h"

#include <algorithm>
#include <cerrno>

#include "fabric_emul/stream/stream_terminate.h"
#include "fabric_emul/transport/wc.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kRecordsMin = 16;
constexpr std::size_t kRecordsMax = 2048;

}  // namespace

StreamSender::StreamSender(StreamContext& context, ReadQueue& responses,
                           const StreamSendLimits& limits)
    : context_(context),
      responses_(responses),
      limits_(limits),
      congestion_(Congestion::kWindowMin),
      sq_(limits.depth),
      records_(1),
      reads_(1) {}

const char* StreamSender::refused(const SendWr& wr, const SgeList& gather) const {
  switch (wr.op) {
    case WrOp::kSend:
      return nullptr;
    case WrOp::kSendDereg:
    case WrOp::kRdmaWrite:
    case WrOp::kRdmaRead:
      break;
    default:
      return "a stream has no such operation";
  }
  if (context_.kind != StreamKind::kRdma) return "this stream takes Sends only";
  if (wr.op != WrOp::kRdmaRead) return nullptr;
  if (gather.count > 1) return "a read on a stream goes to one piece";
  if (wr.idata) return "a read has no idata";
  return limits_.max_rd_atomic == 0 ? "this stream asks for no reads" : nullptr;
}

base::Status StreamSender::post(const SendWr& wr) {
  if (sq_.full()) return base::Error("the send queue is full", ENOMEM);
  Wqe w;
  if (!w.gather.assign(wr.gather)) {
    return base::Error("too many pieces in the gather list", EINVAL);
  }
  if (const char* why = refused(wr, w.gather); why != nullptr) return base::Error(why, EINVAL);
  const std::uint64_t mcp = context_.mcp;
  const std::uint64_t cells = std::max<std::uint64_t>(1, (w.gather.bytes + mcp - 1) / mcp);
  if (cells > kCellsPerPacketMax || w.gather.bytes > kPacketBytesMax) {
    return base::Error("the packet is too long", EMSGSIZE);
  }
  w.wr_id = wr.wr_id;
  w.op = wr.op;
  w.remote_address = wr.remote_address;
  w.remote_handle = wr.remote_handle;
  w.idata = wr.idata;
  w.dereg = wr.dereg;
  w.is_fenced = wr.is_fenced;
  w.cells = wr.op == WrOp::kRdmaRead ? 1 : static_cast<std::uint32_t>(cells);
  sq_.push(w);
  ++tail_no_;
  return {};
}

void StreamSender::start(const StreamStart& agreed) {
  next_number_ = una_ = agreed.number;
  next_psn_ = agreed.psn;
  receive_credits_ = agreed.receive_credits;
  limits_.max_rd_atomic = std::min(limits_.max_rd_atomic, agreed.max_rd_atomic);
  reads_ = base::Ring<OpenRead>(std::max<std::size_t>(limits_.max_rd_atomic, 1));
  std::uint64_t window =
      std::min<std::uint64_t>(limits_.window_bytes_max, agreed.peer_window - kTerminateCellBytes);
  if (context_.link->peer_receive_buffer() > 0) {
    window = std::min<std::uint64_t>(window, context_.link->peer_receive_buffer() / 2);
  }
  window_ = static_cast<std::uint32_t>(window);
  congestion_ = Congestion(std::max(window, Congestion::kWindowMin));
  if (limits_.fixed_rto > base::Duration{0}) congestion_.fix_rto(limits_.fixed_rto);
  const std::size_t cells = 2 * window / (context_.mcp + kCellOverheadMax);
  records_ = base::Ring<Record>(std::clamp(cells, kRecordsMin, kRecordsMax));
}

bool StreamSender::has_unsent() const {
  return in_flight_ < records_.size() || open_ || send_no_ != tail_no_ ||
         responses_.oldest_open() != nullptr;
}

void StreamSender::complete_front(WcStatus status) {
  const Wqe& w = sq_.front();
  Wc wc;
  wc.wr_id = w.wr_id;
  wc.status = status;
  wc.op = wc_op(w.op);
  if (w.op == WrOp::kRdmaRead) wc.bytes = static_cast<std::uint32_t>(w.gather.bytes);
  sq_.pop();
  ++head_no_;
  context_.complete(context_.send_cq, wc);
}

// In the order of posts: a read completes with its answer, everything else with its ACK.
void StreamSender::complete_done() {
  while (!sq_.empty()) {
    const Wqe& w = sq_.front();
    if (!w.is_acknowledged && !w.is_responded) break;
    if (w.op == WrOp::kRdmaRead && !w.is_responded) break;
    complete_front(WcStatus::kSuccess);
  }
}

void StreamSender::finish_read(base::Time now) {
  const OpenRead read = reads_.front();
  reads_.pop();
  wqe(read.wqe_no).is_responded = true;
  on_arrived(read.end, now);
  complete_done();
}

void StreamSender::fail_at(std::uint64_t no, WcStatus status,
                           const std::optional<Terminate>& told) {
  if (context_.has_failed) return;
  failed_no_ = no;
  failed_status_ = status;
  context_.fail(told);
}

// The receiver tells the peer.
void StreamSender::fail_read(Psn psn) {
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    if (reads_[i].psn != psn) continue;
    failed_no_ = reads_[i].wqe_no;
    failed_status_ = WcStatus::kBadResponse;
    return;
  }
}

void StreamSender::blame(const Terminate& terminate) {
  if (terminate.offending.op == Op::kRdmaReadResp) return;  // an answer of ours
  for (std::uint64_t no = head_no_; no < send_no_; ++no) {
    if (!wqe(no).is_started || wqe(no).psn != terminate.offending.psn) continue;
    failed_no_ = no;
    failed_status_ = status_of(terminate);
    return;
  }
}

void StreamSender::flush() {
  while (!sq_.empty()) {
    complete_front(head_no_ == failed_no_ ? failed_status_ : WcStatus::kFlushed);
  }
  failed_no_.reset();
  open_.reset();
  records_.clear();
  reads_.clear();
  in_flight_ = 0;
  in_flight_bytes_ = 0;
  consumers_outstanding_ = 0;
  send_no_ = tail_no_;
  rto_at_ = base::kNever;
}

}  // namespace splitnic::fabric
