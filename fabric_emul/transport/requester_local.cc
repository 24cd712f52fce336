// Work requests that send nothing: they run when their turn in the send queue comes, so what is
// posted behind them finds them done [S000-06] [S000-07].
#include "fabric_emul/transport/requester.h"
#include "fabric_emul/transport/service.h"

namespace splitnic::fabric {

// nullptr: it can be posted.
const char* Requester::local_refused(const SendWr& wr) const {
  if (wr.idata || !wr.gather.empty()) return "a work request that sends nothing carries no data";
  if (wr.op == WrOp::kDelay && wr.local.delay < base::Duration{0}) return "a delay is not negative";
  return nullptr;
}

// None: done.
std::optional<WcStatus> Requester::execute(WrOp op, const LocalWork& work) {
  std::optional<AccessCheck> refused;
  if (op == WrOp::kBind) {
    refused = context_.mrwt.bind_reserved(context_.pd, work.window, work.region, work.address,
                                          work.length, work.rights, work.bound_qp);
    if (!refused && work.is_one_touch) context_.mrwt.make_one_touch(work.window);
  } else {
    refused = context_.mrwt.unbind_of(context_.pd, work.window);
  }
  return refused ? std::optional(WcStatus::kBind) : std::nullopt;
}

// False: it waits, or it failed.
bool Requester::run_local(base::Time now) {
  Wqe& w = wqe(send_no_);
  if (!w.started) {  // else a go-back came past it: it was done
    // A delay that has begun goes on.
    if (context_.state == QpState::kSqd && delay_until_ == base::kNever) return false;
    if (w.is_fenced && !reads_.empty()) return false;
    if (w.op == WrOp::kRegister) {
      if (!register_now(send_no_)) return false;
    } else if (w.op == WrOp::kDelay) {
      const LocalWork& work = local_work_.front();
      if (delay_until_ == base::kNever) delay_until_ = now + work.delay;
      if (now < delay_until_) return false;
      delay_until_ = base::kNever;
    } else if (const auto failed = execute(w.op, local_work_.front())) {
      fail_work(send_no_, *failed);
      return false;
    }
    if (w.op != WrOp::kRegister) local_work_.pop_front();
    w.started = true;
    w.first_lcn = next_lcn_;
  }
  ++send_no_;
  if (is_acknowledged(context_.service)) {
    complete_acknowledged();
  } else {
    complete_front(WcStatus::kSuccess);
  }
  return true;
}

// A work request of ours that cannot be done: the queue pair leaves its working state.
void Requester::fail_work(std::uint64_t no, WcStatus status) {
  if (is_acknowledged(context_.service)) return end_at(no, status);
  complete_front(status);
  context_.send_fault = true;
}

}  // namespace splitnic::fabric
