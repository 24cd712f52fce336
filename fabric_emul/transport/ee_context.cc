// The sending half of an end-to-end context.
#include "fabric_emul/transport/ee_context.h"

#include <algorithm>
#include <cerrno>

#include "fabric_emul/transport/ee_table.h"
#include "fabric_emul/transport/send_cell.h"

namespace splitnic::fabric {
namespace {

// A message without a reply is lost when one that was sent this much later has one: replies come in
// order, but for what the path reorders. RFC 9002, section 6.1.1
constexpr std::size_t kReorderMessages = 3;

WcStatus status_of(AckCode code) {
  switch (code) {
    case AckCode::kAck:
      return WcStatus::kSuccess;
    case AckCode::kRemoteAccess:
      return WcStatus::kRemoteAccess;
    case AckCode::kRemoteOperational:
      return WcStatus::kRemoteOperational;
    default:
      return WcStatus::kRemoteInvalid;
  }
}

}  // namespace

EeContext::EeContext(EeId id, const EeInit& init, Psn start_psn, RdQueuePairs& queue_pairs,
                     base::Counters<TransportCounter>& counters)
    : id_(id),
      init_(init),
      start_psn_(start_psn),
      queue_pairs_(queue_pairs),
      counters_(counters),
      next_psn_(start_psn),
      timer_(init.stall_min) {}

base::Status EeContext::connect(Link& link, const EePeer& peer) {
  if (state_ != State::kCreated) {
    return base::Error("the end-to-end context is connected, or has ended", EISCONN);
  }
  if (peer.context == 0 || peer.context > 0xFFFFFF || peer.mcp < kMcpMin || peer.mcp % 4 != 0) {
    return base::Error("the peer's end-to-end context has impossible values", EINVAL);
  }
  link_ = &link;
  remote_ = peer.context;
  expected_ = peer.receive_psn;
  mcp_ = peer.mcp;
  if (link.peer_receive_buffer() > 0) {
    const std::size_t cells = link.peer_receive_buffer() / 2 / (mcp_ + kStrideOverhead);
    window_ = std::clamp<std::size_t>(cells, 1, kEeWindow);
  }
  congestion_ = Congestion(0, link.has_flits());
  if (init_.fixed_rto > base::Duration{0}) congestion_.fix_rto(init_.fixed_rto);
  state_ = State::kReady;
  return {};
}

void EeContext::end(WcStatus status) {
  if (state_ == State::kEnded) return;
  state_ = State::kEnded;
  counters_.add(TransportCounter::kEeErrors);
  timer_.disarm();
  while (!records_.empty()) {
    Qp* qp = records_.front().qp;
    records_.pop();
    if (qp == nullptr) continue;
    qp->on_rd_result(status);
    queue_pairs_.wake(*qp);
  }
  lost_count_ = 0;
}

MacHeader EeContext::header(Op op) const {
  MacHeader h;
  h.sl = init_.sl;
  h.op = op;
  h.service = Service::kRd;
  h.dlid = link_->remote_lid();
  h.slid = link_->local_lid();
  h.partition = init_.partition;
  return h;
}

bool EeContext::send(Qp& qp, base::Time now) {
  if (records_.size() >= window_ || !link_->up()) return false;
  const EePlace place{next_psn_, remote_, kFlagAckRequest};
  if (qp.emit_rd(*link_, place) == 0) return false;
  Record& record = records_.push_slot();
  record = Record{};
  record.qp = &qp;
  record.sent_at = now;
  ++next_psn_;
  if (!timer_.is_armed()) timer_.arm(now, congestion_.rto());
  return true;
}

void EeContext::abandon(const Qp& qp) {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].qp == &qp) records_[i].qp = nullptr;
  }
}

void EeContext::on_cell(const CellView& cell, const Link& link, base::Time now) {
  if (state_ != State::kReady) return counters_.add(TransportCounter::kCellDropState);
  if (&link != link_) return counters_.add(TransportCounter::kCellDropSource);
  if (!match(init_.partition, cell.header.partition)) {
    return counters_.add(TransportCounter::kCellDropPartition);
  }
  switch (cell.header.op) {
    case Op::kAck:
    case Op::kNak:
    case Op::kRdmaReadResp:
    case Op::kFetchOpResp:
      return on_reply(cell, now);
    default:
      return on_request(cell);
  }
}

// A reply is of the message with its PSN, and of no other.
void EeContext::on_reply(const CellView& cell, base::Time now) {
  const bool has_ack = cell.header.op == Op::kAck || cell.header.op == Op::kNak;
  ack_.code = AckCode::kAck;
  if (has_ack && !parse_ack(cell, ack_)) return counters_.add(TransportCounter::kCellDropFormat);
  if (cell.header.op == Op::kAck) counters_.add(TransportCounter::kRxAcks);
  if (cell.header.op == Op::kNak) counters_.add(TransportCounter::kRxNaks);
  const std::int32_t at = cell.header.psn - oldest();
  if (at < 0 || static_cast<std::size_t>(at) >= records_.size()) {
    return counters_.add(TransportCounter::kAckStale);
  }
  const auto index = static_cast<std::size_t>(at);
  if (ack_.code == AckCode::kSequence) return on_sequence_nak(index);
  Record& record = records_[index];
  if (record.has_result) return counters_.add(TransportCounter::kAckStale);
  if (timer_.gives_sample(record.sent_at, record.is_repeated)) {
    congestion_.on_rtt_sample(now - record.sent_at);
  }
  Qp* qp = record.qp;
  resolve(index, now);
  if (qp == nullptr) return;
  apply(*qp, cell, ack_, now);
  queue_pairs_.wake(*qp);
}

void EeContext::apply(Qp& qp, const CellView& cell, const AckExt& ack, base::Time now) {
  if (ack.code == AckCode::kAck) return qp.on_rd_response(cell);
  if (ack.code == AckCode::kRnr) {
    return qp.on_rd_rnr(std::chrono::microseconds(10) * std::max<int>(1, ack.detail), now);
  }
  qp.on_rd_result(status_of(ack.code));
}

// The receiver has dropped what came behind the message that it expects.
void EeContext::on_sequence_nak(std::size_t index) {
  for (std::size_t i = index; i < records_.size(); ++i) {
    Record& record = records_[i];
    if (record.has_result || record.is_lost) continue;
    record.is_lost = true;
    ++lost_count_;
  }
}

// The result of record `index` is here. The records before it that are overtaken are lost.
void EeContext::resolve(std::size_t index, base::Time now) {
  Record& record = records_[index];
  record.qp = nullptr;
  record.has_result = true;
  if (record.is_lost) --lost_count_;
  record.is_lost = false;
  for (std::size_t i = 0; i + kReorderMessages <= index; ++i) {
    Record& older = records_[i];
    if (older.has_result || older.is_lost || older.is_repeated) continue;
    older.is_lost = true;
    ++lost_count_;
  }
  while (!records_.empty() && records_.front().has_result) records_.pop();
  congestion_.on_progress();
  timer_.on_acknowledged(now, !records_.empty(), congestion_.rto());
}

// Sends record `index` once more. Returns false when the link has no room now. The place of a queue
// pair that is gone is filled, or the receiver would wait for it.
bool EeContext::resend(std::size_t index, base::Time now) {
  const EePlace place{oldest() + static_cast<std::uint32_t>(index), remote_,
                      kFlagAckRequest | kFlagRetransmission};
  Record& record = records_[index];
  std::size_t bytes = record.qp != nullptr ? record.qp->emit_rd(*link_, place) : 0;
  // A local failure has taken the queue pair from the record.
  if (bytes == 0 && record.qp == nullptr) bytes = emit_filler(place);
  if (bytes == 0) return false;
  record.is_lost = false;
  record.is_repeated = true;
  record.sent_at = now;
  --lost_count_;
  return true;
}

// An empty Send to queue pair 0, which no node has: its result is NAK 0x64.
std::size_t EeContext::emit_filler(const EePlace& place) {
  CellHead head;
  head.header = header(Op::kSend);
  head.header.psn = place.psn;
  head.header.flags = place.flags;
  head.ee = place.context;
  const std::size_t bytes = send_cell(*link_, head, NoPayload{});
  if (bytes > 0) counters_.add(TransportCounter::kTxRetransmit);
  return bytes;
}

void EeContext::transmit(base::Time now) {
  if (state_ != State::kReady || !link_->up() || !send_results()) return;
  for (std::size_t i = 0; lost_count_ > 0 && i < records_.size(); ++i) {
    if (records_[i].is_lost && !resend(i, now)) return;
  }
}

// While the link is not up no time-out counts.
void EeContext::on_time(base::Time now) {
  if (state_ != State::kReady || now < timer_.deadline() || !link_->up()) return;
  counters_.add(TransportCounter::kTimeouts);
  if (timer_.is_exhausted(now, init_.retry_count)) return end(WcStatus::kRetryExceeded);
  timer_.on_timeout(now);
  congestion_.on_timeout();
  on_sequence_nak(0);
  timer_.arm(now, congestion_.rto());
}

base::Time EeContext::deadline() const {
  if (state_ != State::kReady || !link_->up()) return base::kNever;
  return timer_.deadline();
}

}  // namespace splitnic::fabric
