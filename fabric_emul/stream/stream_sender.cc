#include "fabric_emul/stream/stream_sender.h"

#include <algorithm>
#include <cerrno>

#include "fabric_emul/stream/stream_terminate.h"
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
      queue_(limits.depth),
      timer_(limits.stall_min),
      records_(1),
      reads_(1) {}

// The kind of the stream decides which operations it has.
base::Status StreamSender::check_kind(const SendWr& wr) const {
  switch (wr.op) {
    case WrOp::kSend:
      return {};
    case WrOp::kSendDereg:
    case WrOp::kRdmaWrite:
    case WrOp::kRdmaRead:
      break;
    default:
      return base::Error("a stream has no such operation", EINVAL);
  }
  if (context_.kind != StreamKind::kRdma) {
    return base::Error("this stream takes Sends only", EINVAL);
  }
  if (wr.op != WrOp::kRdmaRead) return {};
  if (wr.gather.size() > 1) return base::Error("a read on a stream goes to one piece", EINVAL);
  if (wr.idata) return base::Error("a read has no idata", EINVAL);
  if (limits_.max_rd_atomic == 0) return base::Error("this stream has no reads", EINVAL);
  return {};
}

base::Status StreamSender::post(const SendWr& wr) {
  Wqe w;
  if (auto prepared = queue_.prepare(wr, context_.mcp, w); !prepared) return prepared;
  if (auto checked = check_kind(wr); !checked) return checked;
  queue_.push(w);
  return {};
}

void StreamSender::start(const StreamStart& agreed) {
  next_number_ = una_ = agreed.number;
  next_psn_ = agreed.psn;
  credits_.update(agreed.receive_credits);
  limits_.max_rd_atomic = std::min(limits_.max_rd_atomic, agreed.max_rd_atomic);
  reads_ = base::Ring<OpenRead>(std::max<std::size_t>(limits_.max_rd_atomic, 1));
  std::uint64_t window =
      std::min<std::uint64_t>(limits_.window_bytes_max, agreed.peer_window - kTerminateCellBytes);
  if (context_.link->peer_receive_buffer() > 0) {
    window = std::min<std::uint64_t>(window, context_.link->peer_receive_buffer() / 2);
  }
  // At least one cell, however small the buffer: less would send nothing. The peer's window holds
  // two (StreamQp::connect()).
  window = std::max<std::uint64_t>(window, context_.mcp + kCellOverheadMax);
  window_ = static_cast<std::uint32_t>(window);
  congestion_ = Congestion(window, context_.link->has_flits());
  if (limits_.fixed_rto > base::Duration{0}) congestion_.fix_rto(limits_.fixed_rto);
  const std::size_t cells = 2 * window / (context_.mcp + kCellOverheadMax);
  records_ = base::Ring<Record>(std::clamp(cells, kRecordsMin, kRecordsMax));
}

bool StreamSender::has_unsent() const {
  return in_flight_ < records_.size() || open_ || queue_.has_unsent() ||
         responses_.oldest_open() != nullptr;
}

void StreamSender::complete_front(WcStatus status) {
  context_.complete(context_.send_cq, queue_.pop(status));
}

// In the order of posts. A read completes with its response, everything else with its ACK.
void StreamSender::complete_done() {
  while (!queue_.empty()) {
    const Wqe& w = queue_.front();
    if (!w.is_acknowledged && !w.is_responded) break;
    if (w.op == WrOp::kRdmaRead && !w.is_responded) break;
    complete_front(WcStatus::kSuccess);
  }
}

void StreamSender::finish_read(base::Time now) {
  const OpenRead read = reads_.front();
  reads_.pop();
  Wqe& w = queue_[read.wqe_no];
  w.is_responded = true;
  // The end of a request that was acknowledged before may be any distance behind.
  if (!w.is_acknowledged) on_arrived(read.end, now);
  complete_done();
}

void StreamSender::fail_at(std::uint64_t no, WcStatus status,
                           const std::optional<Terminate>& cause) {
  if (context_.has_failed) return;
  failed_no_ = no;
  failed_status_ = status;
  context_.fail(cause);
}

// The receiver sends the TERMINATE.
void StreamSender::fail_read(Psn psn) {
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    if (reads_[i].psn != psn) continue;
    failed_no_ = reads_[i].wqe_no;
    failed_status_ = WcStatus::kBadResponse;
    return;
  }
}

void StreamSender::blame(const Terminate& terminate) {
  if (terminate.offending.op == Op::kRdmaReadResp) return;  // of a response, not of a work request
  for (std::uint64_t no = queue_.head_no(); no < queue_.next_no(); ++no) {
    if (!queue_[no].is_started || queue_[no].psn != terminate.offending.psn) continue;
    failed_no_ = no;
    failed_status_ = status_of(terminate);
    return;
  }
}

void StreamSender::flush() {
  while (!queue_.empty()) {
    complete_front(queue_.head_no() == failed_no_ ? failed_status_ : WcStatus::kFlushed);
  }
  failed_no_.reset();
  open_.reset();
  records_.clear();
  reads_.clear();
  in_flight_ = 0;
  in_flight_bytes_ = 0;
  credits_.release_all();
  timer_.disarm();
}

}  // namespace splitnic::fabric
