#include "fabric_emul/transport/qp.h"

#include <cerrno>

#include "fabric_emul/transport/flushed_send.h"

namespace splitnic::fabric {

Qp::Qp(const QpContext& context, const QpLimits& limits, base::MemoryCharge charge)
    : context_(context),
      requester_(context_, limits.send),
      rd_(requester_, context_),
      responder_(context_, limits.receive),
      charge_(std::move(charge)) {}

std::size_t Qp::table_bytes(Service service, const QpLimits& limits) {
  return sizeof(Qp) + Requester::table_bytes(service, limits.send) +
         Responder::table_bytes(service, limits.receive);
}

base::Status Qp::modify(QpState to, AttrMask given, const QpAttr& values) {
  const QpState from = context_.state;
  if (auto checked = check_modify(context_.service, from, to, given, values); !checked)
    return checked;
  if (from == QpState::kSqd && to == QpState::kRts && requester_.is_ending()) {
    return base::Error("the send queue is still draining behind a failed work request", EBUSY);
  }
  apply_attributes(context_.attr, given, values);
  requester_.on_modified();
  if (to == QpState::kErr) {
    enter_error();
    return {};
  }
  enter_state(to);
  if (to == QpState::kReset) {
    drop_messages();
    flush_sends();
    responder_.flush();
    context_.fault.reset();
    context_.terminates.reset();
    ended_by_peer_.reset();
    context_.has_send_fault = context_.has_drain_fault = is_terminate_due_ = false;
    context_.has_refused_access = false;
  }
  if (from == QpState::kInit && to == QpState::kRtr) responder_.start();
  if (from == QpState::kRtr && to == QpState::kRts) requester_.start(peer_credits_);
  if (from == QpState::kSqe && to == QpState::kRts) context_.has_send_fault = false;
  settle_drain();
  return {};
}

void Qp::enter_state(QpState to) {
  if (to != QpState::kSqd) {
    is_draining_ = false;
  } else if (context_.state != QpState::kSqd) {
    is_draining_ = true;
    has_drained_ = false;
  }
  context_.state = to;
}

base::Status Qp::resume_sq() {
  if (context_.state != QpState::kSqd) {
    return base::Error("the send queue is not drained", EINVAL);
  }
  return modify(QpState::kRts, 0, {});
}

base::Result<MemoryHandle> Qp::post_register(const SendWr& wr, const NewRegion& region) {
  if (!context_.registers_in_queue) {
    return base::Error("registration through the send queue is not enabled", EINVAL);
  }
  if (!makes_region(wr.op)) return base::Error("the work request registers nothing", EINVAL);
  if (may_send()) return requester_.post_register(wr, region);
  auto handle = context_.mrwt.regions().reserve_region(context_.pd, region);
  if (!handle) return handle;
  context_.mrwt.regions().give_up_reserved(*handle);
  if (const auto flushed = post(wr); !flushed) return flushed.error();
  return handle;
}

base::Status Qp::post_send(const SendWr& wr) {
  if (makes_region(wr.op)) {
    return base::Error("a registration is posted by post_register", EINVAL);
  }
  return post(wr);
}

base::Status Qp::post(const SendWr& wr) {
  switch (context_.state) {
    case QpState::kReset:
    case QpState::kInit:
    case QpState::kRtr:
      return base::Error("a send is refused in this state of the queue pair", EINVAL);
    case QpState::kSqe:
    case QpState::kErr:
      context_.complete(context_.send_cq, flushed_send(wr));
      return {};
    case QpState::kRts:
    case QpState::kSqd:
    case QpState::kCount_:
      break;
  }
  return requester_.post(wr);
}

base::Status Qp::post_recv(const RecvWr& wr) {
  if (context_.state == QpState::kReset) {
    return base::Error("a receive is refused in RESET", EINVAL);
  }
  if (auto posted = responder_.post(wr); !posted) return posted;
  if (context_.state == QpState::kErr) responder_.flush();
  return {};
}

bool Qp::is_from_peer(const MacHeader& header, const Link& link) const {
  if (header.service != context_.service) return false;
  if (!is_connected(context_.service)) return true;
  const bool is_by_own = context_.link == &link && header.slid == context_.attr.remote_lid;
  const bool is_by_other = !is_by_own && context_.paths.spans() && context_.paths.takes(link) &&
                           header.slid == link.remote_lid();
  return (is_by_own || is_by_other) && header.sqpn == context_.attr.remote_qpn;
}

// Counts a cell that is not for this queue pair.
bool Qp::admits(const MacHeader& header, const Link& link) {
  if (!is_from_peer(header, link)) {
    context_.counters.add(TransportCounter::kCellDropSource);
    return false;
  }
  if (!is_in_partition(header)) {
    context_.counters.add(TransportCounter::kCellDropPartition);
    return false;
  }
  return true;
}

void Qp::on_cell(const CellView& cell, base::Bytes raw, Link& link, base::Time now) {
  if (!admits(cell.header, link)) return;
  if (!may_receive()) {
    // A peer that still sends has not received the TERMINATE.
    if (context_.terminates && cell.header.op != Op::kTerminate) is_terminate_due_ = true;
    context_.counters.add(TransportCounter::kCellDropState);
    return;
  }
  if (cell.header.op == Op::kTerminate)
    on_terminate(cell);
  else if (cell.header.op == Op::kAck || cell.header.op == Op::kNak)
    on_reply(cell, now);
  else if (cell.header.op == Op::kRdmaReadResp || cell.header.op == Op::kFetchOpResp)
    on_response(cell, now);
  else
    responder_.on_cell(cell, raw, now);
  settle();
}

std::size_t Qp::take_run(std::span<const ReceivedCell> cells, const MacHeader& before,
                         const Link& link, base::Time now) {
  if (!context_.predicts_headers || !may_receive() || !is_from_peer(before, link) ||
      !is_in_partition(before)) {
    return 0;
  }
  return responder_.take_run(cells, before, now);
}

void Qp::on_malformed(const MacHeader& header, const Link& link) {
  if (!admits(header, link)) return;
  if (!may_receive()) return context_.counters.add(TransportCounter::kCellDropState);
  responder_.on_malformed(header);
}

void Qp::on_reply(const CellView& cell, base::Time now) {
  if (!expects_replies()) return context_.counters.add(TransportCounter::kCellDropState);
  if (!parse_ack(cell, ack_)) return context_.counters.add(TransportCounter::kCellDropFormat);
  if (ack_.code == AckCode::kAck)
    requester_.on_ack(ack_, now);
  else
    requester_.on_nak(cell, ack_, now);
}

void Qp::on_response(const CellView& cell, base::Time now) {
  if (context_.state != QpState::kRts && context_.state != QpState::kSqd) {
    return context_.counters.add(TransportCounter::kCellDropState);
  }
  requester_.on_response(cell, now);
}

void Qp::end_batch(base::Time now) {
  if (context_.paths.is_any_up()) responder_.end_batch(now);
  send_terminate();
  settle();
}

void Qp::on_time(base::Time now) {
  if (expects_replies()) requester_.on_time(now);
  settle();
}

base::Time Qp::deadline() const {
  // Nothing is due that cannot be done: the link reports when it is up or writable again.
  base::Time at = expects_replies() ? requester_.deadline() : base::kNever;
  if (can_reply() && may_receive()) at = std::min(at, responder_.deadline());
  return at;
}

// A fault that the requester or the responder found takes effect here: between cells, never in the
// middle of one.
void Qp::settle() {
  if (context_.fault && context_.state != QpState::kErr && !responder_.has_nak_due()) {
    enter_error();
    is_terminate_due_ = context_.terminates.has_value();
    send_terminate();
  }
  if (context_.has_send_fault && may_send()) {
    enter_state(QpState::kSqe);
    flush_sends();
  }
  settle_drain();
}

void Qp::settle_drain() {
  if (context_.has_drain_fault && context_.state == QpState::kRts) enter_state(QpState::kSqd);
  context_.has_drain_fault = false;
  if (!is_draining_ || !requester_.is_drained()) return;
  is_draining_ = false;
  has_drained_ = true;
  context_.counters.add(TransportCounter::kQpDrained);
}

void Qp::enter_error() {
  if (context_.state == QpState::kErr) return;
  enter_state(QpState::kErr);
  drop_messages();
  context_.counters.add(TransportCounter::kQpErrors);
  flush_sends();
  responder_.flush();
}

}  // namespace splitnic::fabric
