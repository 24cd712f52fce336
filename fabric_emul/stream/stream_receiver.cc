#include "fabric_emul/stream/stream_receiver.h"

#include <algorithm>

#include "fabric_emul/transport/send_cell.h"
#include "fabric_emul/transport/wc.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kEarlyMin = 16;
constexpr std::size_t kEarlyMax = 2048;
constexpr unsigned kAcksPerBatch = 4;  // one, and three duplicates for early cells

constexpr bool is_tagged(Op op) { return op == Op::kRdmaWrite || op == Op::kRdmaReadResp; }

}  // namespace

StreamReceiver::StreamReceiver(StreamContext& context, StreamSender& sender, ReadQueue& reads,
                               const StreamReceiveLimits& limits)
    : context_(context),
      sender_(sender),
      reads_(reads),
      limits_(limits),
      window_(limits.window_bytes, 0),
      rq_(limits.depth) {}

base::Status StreamReceiver::post(const RecvWr& wr, base::Time now) {
  if (auto posted = rq_.post(wr); !posted) return posted;
  if (context_.state != QpState::kRts) return {};
  if (rq_.size() == 1) acks_due_ = std::max(acks_due_, 1U);  // the peer may be waiting for it
  catch_up(now);
  return {};
}

void StreamReceiver::start(StreamNumber first, Psn psn) {
  const std::size_t cells =
      2 * std::size_t{limits_.window_bytes} / (context_.mcp + kCellOverheadMax);
  window_ = ReceiveWindow(limits_.window_bytes, std::clamp(cells, kEarlyMin, kEarlyMax));
  window_.start(first);
  expected_psn_ = psn;
  last_psn_ = psn - 1;
}

void StreamReceiver::on_cell(const CellView& cell, std::uint32_t bytes, base::Time now) {
  const StreamNumber number(*cell.stream_number);
  const StreamPlace place = window_.place_of(number, bytes);
  acks_due_ = std::max(acks_due_, 1U);
  if (place == StreamPlace::kOutside) {  // [S002-27]
    const bool is_beyond = window_.is_beyond(number, bytes);
    context_.counters.add(is_beyond ? StreamCounter::kDropWindow : StreamCounter::kDropOld);
    return;
  }
  if (place == StreamPlace::kEarly) {
    acks_due_ = std::min(acks_due_ + 1, kAcksPerBatch);
    if (!is_tagged(cell.header.op)) return context_.counters.add(StreamCounter::kDropOrder);
  }
  if (!is_taken_here(cell)) {
    refuse(cell, TerminateCause::kUnexpectedOp);
  } else if (!has_legal_length(cell)) {
    refuse(cell, TerminateCause::kStreamError);
  } else if (place == StreamPlace::kEarly) {
    take_early(cell, bytes);
  } else {
    take_in_order(cell, bytes, now);
    catch_up(now);
  }
}

void StreamReceiver::take_early(const CellView& cell, std::uint32_t bytes) {
  if (!window_.has_room()) return context_.counters.add(StreamCounter::kDropEarlyFull);
  EarlyCell early{.number = StreamNumber(*cell.stream_number),
                  .bytes = bytes,
                  .header = cell.header,
                  .va_mh = *cell.va_mh,
                  .idata = cell.idata};
  if (!place_tagged(cell, StreamPlace::kEarly, early.last_byte(), early.touches)) return;
  context_.counters.add(StreamCounter::kEarly);
  context_.counters.add(StreamCounter::kRxCells);
  context_.counters.add(StreamCounter::kRxBytes, bytes);
  window_.keep(early);
}

void StreamReceiver::take_in_order(const CellView& cell, std::uint32_t bytes, base::Time now) {
  const MacHeader& h = cell.header;
  if (!follows(h, cell.idata)) {
    refuse(cell, TerminateCause::kStreamError);
    return;
  }
  if (lacks_receive(h, cell.idata)) return context_.counters.add(StreamCounter::kDropNoReceive);
  bool touches = false;
  const StreamNumber last_byte = StreamNumber(*cell.stream_number) + (bytes - 1);
  bool taken = false;
  if (is_tagged(h.op)) {
    taken = place_tagged(cell, StreamPlace::kInOrder, last_byte, touches);
  } else if (h.op == Op::kRdmaReadReq) {
    taken = take_read_request(cell, now);
  } else {
    taken = place_send(cell) && deregister_for(cell);
  }
  if (!taken) return;
  context_.counters.add(StreamCounter::kRxCells);
  context_.counters.add(StreamCounter::kRxBytes, bytes);
  const MemoryHandle ended = cell.dereg ? MemoryHandle(*cell.dereg) : MemoryHandle{};
  finish(h, cell.va_mh.value_or(VaMh{}), cell.idata, ended, bytes, now);
}

// Takes the early cells that are now next in order.
void StreamReceiver::catch_up(base::Time now) {
  while (!context_.has_failed) {
    const EarlyCell* due = window_.due();
    if (due == nullptr) break;
    const EarlyCell early = *due;
    if (!follows(early.header, early.idata)) {
      CellView cell;
      cell.header = early.header;
      cell.va_mh = early.va_mh;
      refuse(cell, TerminateCause::kStreamError);
      break;
    }
    if (lacks_receive(early.header, early.idata)) break;
    window_.pop_due();
    if (early.touches) {
      context_.mrwt.one_touch().line_up(early.va_mh.handle, context_.qpn, early.last_byte());
    }
    finish(early.header, early.va_mh, early.idata, MemoryHandle{}, early.bytes, now);
  }
}

// The cell is the next one of its packet, or the first of the next packet; idata agrees.
bool StreamReceiver::follows(const MacHeader& h, const std::optional<std::uint32_t>& idata) const {
  if (h.csn != open_.next_csn || is_first(h.pos) == open_.is_active) return false;
  if (open_.is_active) {
    const bool agrees = !idata || !open_.idata || *idata == *open_.idata;
    return h.op == open_.op && h.psn == open_.psn && agrees;
  }
  if (h.op != Op::kRdmaReadResp) return h.psn == expected_psn_;
  const OpenRead* read = sender_.open_read(0);
  return read != nullptr && h.psn == read->psn;
}

// A Send consumes a receive with its first cell, an idata with the last cell of its packet.
bool StreamReceiver::lacks_receive(const MacHeader& h,
                                   const std::optional<std::uint32_t>& idata) const {
  if (!rq_.empty()) return false;
  if (h.op == Op::kSend || h.op == Op::kSendDereg) return true;
  return h.op == Op::kRdmaWrite && is_last(h.pos) && (idata || open_.idata);
}

// The cell at the next expected number was taken.
void StreamReceiver::finish(const MacHeader& h, const VaMh& va_mh,
                            const std::optional<std::uint32_t>& idata, MemoryHandle ended,
                            std::uint32_t bytes, base::Time now) {
  window_.advance(bytes);
  last_psn_ = h.psn;
  last_csn_ = h.csn;
  if (is_first(h.pos)) {
    open_ = Open{.is_active = true, .op = h.op, .psn = h.psn, .idata = {}, .start = va_mh.address};
  }
  if (idata) open_.idata = idata;
  ++open_.next_csn;
  if (!is_last(h.pos)) return;
  const bool sends = h.op == Op::kSend || h.op == Op::kSendDereg;
  if (sends || open_.idata) complete_receive(h, WcStatus::kSuccess, ended);
  open_ = Open{};
  packets_ = (packets_ + 1) & 0xFFFFFF;
  if (h.op == Op::kRdmaReadResp) return sender_.finish_read(now);
  ++expected_psn_;
}

void StreamReceiver::complete_receive(const MacHeader& h, WcStatus status, MemoryHandle ended) {
  Wc wc;
  wc.wr_id = rq_.front().wr_id;
  wc.status = status;
  wc.op = h.op == Op::kRdmaWrite ? WcOp::kReceiveRdmaIdata : WcOp::kReceive;
  wc.has_idata = open_.idata.has_value();
  wc.idata = open_.idata.value_or(0);
  wc.ended = ended;
  wc.bytes = std::uint32_t{h.csn} * context_.mcp + h.payload_bytes;
  wc.address = open_.start;
  wc.source_lid = h.slid;
  wc.source_qpn = h.sqpn;
  rq_.pop();
  context_.complete(context_.recv_cq, wc);
}

void StreamReceiver::end_batch() {
  while (acks_due_ > 0 && send_ack(window_.expected())) --acks_due_;
}

bool StreamReceiver::send_ack(StreamNumber next) {
  AckExt ack;
  ack.msn = packets_;
  ack.receive_credits = receive_credits();
  CellHead head;
  head.header = context_.header(Op::kAck, Pos::kOnly);
  head.header.psn = last_psn_;
  head.header.csn = last_csn_;
  head.stream_number = next.value;
  head.ack = &ack;
  if (send_cell(*context_.link, head, NoPayload{}) == 0) return false;
  context_.counters.add(StreamCounter::kTxAcks);
  return true;
}

// Flushes every receive, also the one whose Send has begun. A one-touch entry that is in use will
// not be used to its end, so it ends here.
void StreamReceiver::flush() {
  window_.for_each_early([&](const EarlyCell& early) {
    if (!early.touches) return;
    context_.mrwt.one_touch().line_up(early.va_mh.handle, context_.qpn, early.last_byte());
  });
  reads_.for_each([&](const ReadResponse& response) {
    context_.mrwt.one_touch().spend(response.source.handle, context_.qpn, response.psn);
  });
  rq_.flush([this](const Wc& wc) { context_.complete(context_.recv_cq, wc); });
  acks_due_ = 0;
}

}  // namespace splitnic::fabric
