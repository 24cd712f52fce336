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

// Of a context whose owner takes messages of `wanted` bytes.
std::uint32_t message_max_of(std::uint32_t wanted, std::uint16_t mcp) {
  const std::uint64_t most =
      std::min<std::uint64_t>(kPacketBytesMax, std::uint64_t{kCellsPerPacketMax} * mcp);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, mcp, most));
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
  mcp_ = message_.mcp = peer.mcp;
  message_max_ = message_max_of(peer.message_max, mcp_);
  message_.bytes_max = message_max_of(init_.message_max, mcp_);
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
  drop_message();
  message_.reset();
  cells_in_flight_ = cells_pending_ = 0;
  while (!records_.empty()) {
    Qp* qp = records_.front().qp;
    records_.pop();
    if (qp == nullptr) continue;
    qp->on_rd_result(status);
    queue_pairs_.wake(*qp);
  }
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
  // The cells of one message are not between those of another.
  if (!link_->up() || !send_pending(now)) return false;
  if (records_.size() >= window_ || cells_in_flight_ >= window_) return false;
  Record fresh;
  fresh.cells = qp.rd_cells();
  if (qp.emit_rd(*link_, EePlace{next_psn_, 0, remote_, flags_of(fresh)}) == 0) return false;
  fresh.qp = &qp;
  fresh.sent_at = now;
  fresh.next = fresh.sent = 1;
  records_.push(fresh);
  cells_in_flight_ += fresh.in_flight();
  cells_pending_ += fresh.pending();
  ++next_psn_;
  if (!timer_.is_armed()) timer_.arm(now, congestion_.rto());
  static_cast<void>(send_pending(now));
  return true;
}

// The receiver would wait for the cells that will not come.
void EeContext::abandon(const Qp& qp) {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    Record& record = records_[i];
    if (record.qp != &qp) continue;
    record.qp = nullptr;
    if (record.pending() > 0) fill_place(record);
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

// A reply is of the message with its PSN, and of no other. An ACK of a cell before the last is its
// progress, and everything else its result.
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
  const std::uint32_t csn = cell.header.csn;
  if (ack_.code == AckCode::kSequence) return on_sequence_nak(index, csn);
  Record& record = records_[index];
  if (record.has_result || csn >= record.sent) return counters_.add(TransportCounter::kAckStale);
  take_round_trip(record, csn, now);
  if (cell.header.op == Op::kAck && csn + 1 < record.cells) return on_progress(index, csn + 1, now);
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

// A reply to cell `csn` gives one if that is the newest of its message and was sent once.
void EeContext::take_round_trip(const Record& record, std::uint32_t csn, base::Time now) {
  if (csn + 1 != record.sent || record.next != record.sent) return;
  if (!timer_.gives_sample(record.sent_at, csn < record.repeated)) return;
  congestion_.on_rtt_sample(now - record.sent_at);
}

// The receiver has the first cells of a message.
void EeContext::on_progress(std::size_t index, std::uint32_t taken, base::Time now) {
  Record& record = records_[index];
  if (record.is_filler || taken <= record.taken) return;
  note_taken(record, taken);
  note_taken_before(index);
  congestion_.on_progress();
  timer_.on_acknowledged(now, true, congestion_.rto());
}

// The receiver has dropped what came behind the cell that it expects.
void EeContext::on_sequence_nak(std::size_t index, std::uint32_t csn) {
  Record& record = records_[index];
  const bool is_possible = record.is_filler || (csn < record.sent && csn >= record.taken);
  if (record.has_result || !is_possible) return counters_.add(TransportCounter::kAckStale);
  if (!record.is_filler) note_taken(record, csn);
  go_back(index);
}

// All cells in flight from record `index` on are lost.
void EeContext::go_back(std::size_t index) {
  for (std::size_t i = index; i < records_.size(); ++i) lose(records_[i]);
}

// The place of a queue pair that is gone is filled, or the receiver would wait for it.
void EeContext::lose(Record& record) {
  if (record.has_result) return;
  if (record.qp == nullptr) return fill_place(record);
  update(record, [](Record& r) { r.next = r.taken; });
}

void EeContext::fill_place(Record& record) {
  update(record, [](Record& r) {
    r.is_filler = r.is_repeated = true;
    r.repeated = r.sent;
    r.next = r.taken = 0;
  });
}

void EeContext::note_taken(Record& record, std::uint32_t taken) {
  update(record, [taken](Record& r) {
    r.taken = std::max(r.taken, taken);
    r.next = std::max(r.next, r.taken);
  });
}

// The receiver takes cells in order, so it has all of the messages before `index`. The last cell of
// each stays in flight for its result.
void EeContext::note_taken_before(std::size_t index) {
  for (std::size_t i = 0; i < index; ++i) {
    if (!records_[i].has_result) note_taken(records_[i], records_[i].end() - 1);
  }
}

// The result of record `index` is here. The records before it that are overtaken are lost.
void EeContext::resolve(std::size_t index, base::Time now) {
  update(records_[index], [](Record& r) {
    r.qp = nullptr;
    r.has_result = true;
  });
  note_taken_before(index);
  for (std::size_t i = 0; i + kReorderMessages <= index; ++i) {
    if (!records_[i].is_repeated) lose(records_[i]);
  }
  while (!records_.empty() && records_.front().has_result) records_.pop();
  congestion_.on_progress();
  timer_.on_acknowledged(now, !records_.empty(), congestion_.rto());
}

// An ACK is requested where sending has to stop and at each quarter of the window.
std::uint8_t EeContext::flags_of(const Record& record) const {
  const std::size_t quarter = std::max<std::size_t>(window_ / 4, 1);
  const bool asks = record.next + 1 == record.end() || cells_in_flight_ + 1 >= window_ ||
                    (record.next + 1) % quarter == 0;
  const bool is_repeated = record.is_filler || record.next < record.sent;
  return static_cast<std::uint8_t>((asks ? kFlagAckRequest : 0) |
                                   (is_repeated ? kFlagRetransmission : 0));
}

// Sends what is pending, in the order of messages. Returns false when some of it waits: the window
// or the link has no room.
bool EeContext::send_pending(base::Time now) {
  for (std::size_t i = 0; cells_pending_ > 0 && i < records_.size(); ++i) {
    while (records_[i].pending() > 0) {
      if (cells_in_flight_ >= window_ || !send_next(i, now)) return false;
    }
  }
  return true;
}

// Sends the next cell of record `index`. Returns false when the link has no room now.
bool EeContext::send_next(std::size_t index, base::Time now) {
  Record& record = records_[index];
  const Psn psn = oldest() + static_cast<std::uint32_t>(index);
  const EePlace place{psn, record.next, remote_, flags_of(record)};
  std::size_t bytes = record.qp != nullptr ? record.qp->emit_rd(*link_, place) : 0;
  // A local failure has taken the queue pair from the record.
  if (bytes == 0 && record.qp == nullptr) bytes = emit_filler(psn);
  if (bytes == 0) return false;
  update(record, [now](Record& r) {
    if (r.next < r.sent) {
      r.is_repeated = true;
      r.repeated = std::max(r.repeated, r.next + 1);
    }
    r.sent = std::max(r.sent, ++r.next);
    r.sent_at = now;
  });
  return true;
}

// An empty Send to queue pair 0, which no node has: its result is NAK 0x64.
std::size_t EeContext::emit_filler(Psn psn) {
  CellHead head;
  head.header = header(Op::kSend);
  head.header.psn = psn;
  head.header.flags = kFlagAckRequest | kFlagRetransmission;
  head.ee = remote_;
  const std::size_t bytes = send_cell(*link_, head, NoPayload{});
  if (bytes > 0) counters_.add(TransportCounter::kTxRetransmit);
  return bytes;
}

void EeContext::transmit(base::Time now) {
  if (state_ != State::kReady || !link_->up() || !send_results()) return;
  static_cast<void>(send_pending(now));
}

// While the link is not up no time-out counts.
void EeContext::on_time(base::Time now) {
  if (state_ != State::kReady || now < timer_.deadline() || !link_->up()) return;
  counters_.add(TransportCounter::kTimeouts);
  if (timer_.is_exhausted(now, init_.retry_count)) return end(WcStatus::kRetryExceeded);
  timer_.on_timeout(now);
  congestion_.on_timeout();
  go_back(0);
  timer_.arm(now, congestion_.rto());
}

base::Time EeContext::deadline() const {
  if (state_ != State::kReady || !link_->up()) return base::kNever;
  return timer_.deadline();
}

}  // namespace splitnic::fabric
