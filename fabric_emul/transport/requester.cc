// Posts, completions in the order of posts, and failures.
#include "fabric_emul/transport/requester.h"

#include <algorithm>

#include "fabric_emul/transport/ee_table.h"
#include "fabric_emul/transport/post_check.h"
#include "fabric_emul/transport/service.h"

namespace splitnic::fabric {

Requester::Requester(QpContext& context, const RequesterLimits& limits)
    : context_(context),
      limits_(limits),
      queue_(limits.depth),
      congestion_(limits.window_bytes_max),
      timer_(limits.stall_min),
      local_(context),
      failures_(context) {}

std::size_t Requester::table_bytes(Service service, const RequesterLimits& limits) {
  return base::Ring<Wqe>::bytes_of(limits.depth) +
         (has_own_sequence(service) ? base::Ring<CellRecords::Record>::bytes_of(kWindowCells) : 0);
}

base::Status Requester::post(const SendWr& wr) {
  return queue_.post(wr, context_.attr.mcp, [&](Wqe& w) -> base::Status {
    if (auto checked = check_post(context_, wr, w.gather.bytes); !checked) return checked;
    const bool is_to_peer = is_connected(context_.service);
    w.fetch_op = wr.fetch_op;
    w.destination_lid = is_to_peer ? context_.attr.remote_lid : wr.destination_lid;
    w.destination_qpn = is_to_peer ? context_.attr.remote_qpn : wr.destination_qpn;
    w.destination_ee = wr.destination_ee;
    w.mcp = context_.attr.mcp;
    if (context_.service == Service::kRd && !is_local(wr.op)) cut_for_context(w);
    if (is_local(wr.op) && !makes_region(wr.op)) local_.push(wr.local);
    return {};
  });
}

// RD: cells are those of the context, whose path the destination is behind. REQUIRES that
// check_post() has found it.
void Requester::cut_for_context(Wqe& w) const {
  w.mcp = context_.contexts->find(w.destination_ee)->mcp();
  if (!is_responded(w.op)) w.cells = static_cast<std::uint32_t>(cells_of(w.gather.bytes, w.mcp));
}

base::Result<MemoryHandle> Requester::post_register(const SendWr& wr, const NewRegion& region) {
  const auto reserved = local_.reserve(wr, region);
  if (!reserved) return reserved.error();
  if (const auto posted = post(wr); !posted) {
    local_.cancel_newest();
    return posted.error();
  }
  Wqe& w = queue_.back();
  w.region = *reserved;
  w.region_at = wr.region_at;
  return reserved->handle;
}

void Requester::start(std::uint16_t receive_credits) {
  next_psn_ = context_.attr.send_psn;
  records_.start(context_.attr.send_lcn);
  credits_.update(receive_credits);
  cells_since_ack_request_ = 0;
  rnr_.reset();
  timer_.reset_tries();
  if (!has_own_sequence(context_.service)) return;
  std::uint64_t window = limits_.window_bytes_max;
  if (context_.link != nullptr && context_.link->peer_receive_buffer() > 0) {
    window = std::min<std::uint64_t>(window, context_.link->peer_receive_buffer() / 2);
  }
  congestion_ = Congestion(window, context_.link != nullptr && context_.link->has_flits());
  if (limits_.fixed_rto > base::Duration{0}) congestion_.fix_rto(limits_.fixed_rto);
  // From the oldest cell to the newest, of which the peer's reorder buffer keeps those that came
  // early. A loss is detected two round trips after the cell was first sent, three if it is lost
  // twice.
  const std::size_t span = kSpanWindows * window / (context_.attr.mcp + kStrideOverhead);
  records_.reserve(std::clamp<std::size_t>(span, 16, kWindowCells));
}

void Requester::complete_front(WcStatus status) {
  const Wqe& w = queue_.front();
  if (w.is_started) credits_.release(w);
  reads_.close(queue_.head_no());
  const Wc wc = queue_.pop(status);
  una_no_ = std::max(una_no_, queue_.head_no());
  context_.complete(context_.send_cq, wc);
}

// Completes, in order, every work request whose last cell is acknowledged and whose response, if it
// has one, is whole.
void Requester::complete_acknowledged() {
  while (una_no_ < queue_.next_no() && !before(records_.oldest(), queue_[una_no_].end_lcn())) {
    ++una_no_;
    rnr_.on_progress();
  }
  while (true) {
    if (failures_.is_due(queue_.head_no())) {
      const SendFailure failure = failures_.take();
      return failure.drains ? end_drained(failure.status) : fail(failure.status);
    }
    if (queue_.head_no() == una_no_ || reads_.waits_for(queue_.head_no())) return;
    complete_front(WcStatus::kSuccess);
  }
}

// The oldest work request fails with `status`; the queue pair flushes the rest.
void Requester::fail(WcStatus status) {
  if (!queue_.empty()) complete_front(status);
  context_.fault = status;
}

// Work request `no` has failed. Those before it still complete normally.
void Requester::fail_at(std::uint64_t no, WcStatus status) {
  failures_.fail_at(no, status);
  complete_acknowledged();
}

// The table has refused the bind or unbind `no`.
void Requester::fail_local_work(std::uint64_t no) {
  if (has_own_sequence(context_.service)) return fail_at(no, WcStatus::kBind);
  complete_front(WcStatus::kBind);
  context_.has_send_fault = true;
}

// The table has no room for the region of work request `no`. The failure option, chosen when the
// queue pair was created, decides between its end and a drained send queue.
void Requester::fail_registration(std::uint64_t no, WcStatus status) {
  if (context_.failure_option == FailureOption::kAnticipatory) {
    failures_.end_queue_pair(no, status);
    if (has_own_sequence(context_.service)) context_.terminates = local_.last_key();
  } else {
    failures_.drain_at(no, status);
    complete_acknowledged();
  }
}

// The failing work request completes behind those before it, and those behind it are flushed. The
// queue pair continues to receive, and may send after resume_sq() [S002-32].
void Requester::end_drained(WcStatus status) {
  complete_front(status);
  while (!queue_.empty()) complete_front(WcStatus::kFlushed);
  local_.forget();
  next_csn_ = 0;
}

void Requester::flush() {
  while (!queue_.empty()) complete_front(failures_.flushed_status(queue_.head_no()));
  failures_.clear();
  local_.forget();
  records_.clear();
  reads_.clear();
  credits_.release_all();
  una_no_ = queue_.head_no();
  next_csn_ = 0;
  timer_.disarm();
}

}  // namespace splitnic::fabric
