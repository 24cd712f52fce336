#include "fabric_emul/stream/stream_qp.h"

#include <algorithm>
#include <cerrno>

#include "fabric_emul/stream/stream_terminate.h"
#include "fabric_emul/transport/flushed_send.h"
#include "fabric_emul/transport/send_cell.h"

namespace splitnic::fabric {
namespace {

constexpr unsigned kTerminatesMax = 7;

}  // namespace

StreamQp::StreamQp(const StreamContext& context, const StreamLimits& limits)
    : context_(context),
      limits_(limits),
      reads_(limits.max_dest_rd_atomic),
      sender_(context_, reads_, limits.send),
      receiver_(context_, sender_, reads_, limits.receive) {}

base::Status StreamQp::connect(Link& link, const StreamPeer& peer) {
  if (context_.state != QpState::kInit) return base::Error("the stream is connected", EISCONN);
  const std::uint64_t cell = peer.mcp + kCellOverheadMax;
  const auto is_legal = [&](std::uint32_t window) {
    return window >= 2 * cell + kTerminateCellBytes && window <= kStreamWindowMax;
  };
  if (peer.mcp < kMcpMin || !is_legal(peer.send.peer_window) || !is_legal(window_bytes())) {
    return base::Error("the window of a stream holds at least two cells", EINVAL);
  }
  context_.link = &link;
  context_.remote_lid = peer.lid;
  context_.remote_qpn = peer.qpn;
  context_.mcp = peer.mcp;
  sender_.start(peer.send);
  receiver_.start(peer.receive_number, peer.receive_psn);
  context_.state = QpState::kRts;
  return {};
}

base::Status StreamQp::post_send(const SendWr& wr) {
  if (context_.state == QpState::kInit) {
    return base::Error("a send is refused before the stream is connected", EINVAL);
  }
  if (context_.state == QpState::kRts) return sender_.post(wr);
  context_.complete(context_.send_cq, flushed_send(wr));
  return {};
}

base::Status StreamQp::post_recv(const RecvWr& wr, base::Time now) {
  if (auto posted = receiver_.post(wr, now); !posted) return posted;
  if (context_.state == QpState::kErr) receiver_.flush();
  settle(now);
  return {};
}

bool StreamQp::is_from_peer(const MacHeader& h, const Link& link) const {
  return context_.link == &link && h.slid == context_.remote_lid && h.sqpn == context_.remote_qpn;
}

void StreamQp::on_cell(const CellView& cell, std::size_t bytes, const Link& link, base::Time now) {
  const MacHeader& h = cell.header;
  if (h.service == Service::kIscsi) return context_.counters.add(StreamCounter::kDropService);
  if (h.service != Service::kStream || !is_from_peer(h, link)) {
    return context_.counters.add(StreamCounter::kDropSource);
  }
  if (!match(context_.partition, h.partition)) {
    return context_.counters.add(StreamCounter::kDropPartition);
  }
  if (h.op == Op::kNak) return context_.counters.add(StreamCounter::kDropFormat);
  if (h.op == Op::kAck) {
    on_ack(cell, now);
  } else if (h.op == Op::kTerminate) {
    on_terminate(cell, bytes);
  } else if (context_.state != QpState::kRts) {
    return context_.counters.add(StreamCounter::kDropState);
  } else {
    receiver_.on_cell(cell, static_cast<std::uint32_t>(bytes), now);
  }
  settle(now);
}

void StreamQp::on_ack(const CellView& cell, base::Time now) {
  AckExt ack;
  const StreamNumber next(*cell.stream_number);
  if (!parse_ack(cell, ack)) return context_.counters.add(StreamCounter::kDropFormat);
  if (context_.state == QpState::kRts) return sender_.on_ack(next, ack, now);
  if (farewell_ && next == farewell_->number + kTerminateCellBytes) farewell_.reset();
}

// A TERMINATE takes effect wherever it lies in the window, and is acknowledged each time.
void StreamQp::on_terminate(const CellView& cell, std::size_t bytes) {
  const auto terminate = Terminate::parse(cell.payload);
  const StreamNumber number(*cell.stream_number);
  const auto length = static_cast<std::uint32_t>(bytes);
  if (!terminate || receiver_.window().place_of(number, length) == StreamPlace::kOutside) {
    return context_.counters.add(StreamCounter::kDropTerminate);
  }
  terminate_ack_ = number + length;
  if (context_.state != QpState::kRts) return;
  context_.counters.add(StreamCounter::kRxTerminates);
  sender_.blame(*terminate);
  enter_error();
}

void StreamQp::end_batch(base::Time now) {
  if (!can_send()) return;
  if (context_.state == QpState::kRts) receiver_.end_batch();
  if (terminate_ack_ && receiver_.send_ack(*terminate_ack_)) terminate_ack_.reset();
  send_farewell(now);
}

unsigned StreamQp::transmit(base::Time now, unsigned cells_max) {
  if (!can_send()) return 0;
  end_batch(now);
  if (context_.state != QpState::kRts) return 0;
  const unsigned sent = sender_.transmit(now, cells_max);
  settle(now);
  return sent;
}

void StreamQp::on_time(base::Time now) {
  if (context_.state == QpState::kRts) sender_.on_time(now);
  settle(now);
}

base::Time StreamQp::deadline() const {
  // Nothing is due that cannot be done: the link reports when it is up again.
  if (!can_send()) return base::kNever;
  return context_.state == QpState::kRts ? sender_.deadline()
         : farewell_                     ? farewell_->at
                                         : base::kNever;
}

// A fault takes effect between cells. The cells taken before it are acknowledged first, so that the
// peer's work requests before the one to blame complete.
void StreamQp::settle(base::Time now) {
  if (!context_.has_failed || context_.state == QpState::kErr) return;
  if (can_send()) receiver_.end_batch();
  if (context_.cause && context_.state == QpState::kRts) {
    farewell_ = Farewell{*context_.cause, sender_.next_number(), 0, now, sender_.rto()};
  }
  enter_error();
  if (can_send()) send_farewell(now);
}

void StreamQp::enter_error() {
  if (context_.state == QpState::kErr) return;
  context_.state = QpState::kErr;
  context_.counters.add(StreamCounter::kErrors);
  sender_.flush();
  receiver_.flush();
}

// Sends the TERMINATE with doubled waits until the peer has acknowledged it, or kTerminatesMax
// times.
void StreamQp::send_farewell(base::Time now) {
  if (!farewell_ || now < farewell_->at || !emit_terminate()) return;
  farewell_->at = now + farewell_->wait;
  farewell_->wait *= 2;
  if (++farewell_->tries == kTerminatesMax) farewell_.reset();
}

bool StreamQp::emit_terminate() {
  std::array<std::byte, kTerminateBytes> payload{};
  farewell_->terminate.emit(payload.data());
  CellHead head;
  head.header = context_.header(Op::kTerminate, Pos::kOnly);
  head.stream_number = farewell_->number.value;
  head.header.payload_bytes = kTerminateBytes;
  if (send_cell(*context_.link, head, CopyOf{payload}) == 0) return false;
  context_.counters.add(StreamCounter::kTxTerminates);
  return true;
}

}  // namespace splitnic::fabric
