#include "fabric_emul/verbs/stream_table.h"

#include <algorithm>
#include <cerrno>

#include "fabric_emul/verbs/context_of.h"

namespace splitnic::fabric {
namespace {

constexpr unsigned kStreamCellsPerIteration = 256;

StreamNumber first_number(Lcn start) { return StreamNumber(start.value << 16); }

std::uint16_t flags_of(StreamKind kind) {
  switch (kind) {
    case StreamKind::kPlain:
      return 0;
    case StreamKind::kRdma:
      return kPairStreamRdma;
    case StreamKind::kIscsi:
      break;
  }
  return kPairStreamIscsi;
}

}  // namespace

base::Status StreamTable::create(Qpn qpn, const StreamInit& init, CompletionQueue& send_cq,
                                 CompletionQueue& recv_cq) {
  const CommonInit& common = init.common;
  if (init.window_bytes > kStreamWindowMax || common.mcp % 4 != 0) {
    return base::Error("a stream has an impossible window or MCP", EINVAL);
  }
  auto context = context_of<StreamContext>(common, qpn, memory_, counters_, send_cq, recv_cq);
  context.sl = common.sl;
  context.kind = init.kind;
  StreamLimits limits;
  limits.send.depth = common.send_depth;
  limits.send.max_rd_atomic = common.max_rd_atomic;
  limits.send.retry_count = common.retry_count;
  limits.send.fixed_rto = common.fixed_rto;
  limits.send.stall_min = common.stall_min;
  limits.receive.depth = common.receive_depth;
  limits.receive.window_bytes = init.window_bytes;
  limits.max_dest_rd_atomic =
      init.kind == StreamKind::kRdma ? common.max_dest_rd_atomic : std::uint16_t{0};
  auto stream = std::make_unique<StreamQp>(context, limits);
  stream->start_psn = Psn(random_.next32());
  stream->start_lcn = init.start_lcn.value_or(static_cast<std::uint16_t>(random_.next32()));
  stream->mcp_wanted = common.mcp;
  streams_[qpn] = std::move(stream);
  return {};
}

bool StreamTable::uses_cq(const CompletionQueue& cq) const {
  return std::ranges::any_of(streams_, [&](const auto& one) { return one.second->uses_cq(cq); });
}

base::Status StreamTable::post_send(Qpn qpn, const SendWr& wr) {
  StreamQp* stream = find(qpn);
  if (stream == nullptr) return base::Error("no such queue pair");
  return stream->post_send(wr);
}

base::Status StreamTable::post_recv(Qpn qpn, const RecvWr& wr, base::Time now) {
  StreamQp* stream = find(qpn);
  if (stream == nullptr) return base::Error("no such queue pair");
  return stream->post_recv(wr, now);
}

MgmtPair StreamTable::describe(const StreamQp& stream, std::uint8_t channel) {
  MgmtPair pair;
  pair.channel = channel;
  pair.service = Service::kStream;
  pair.qpn = stream.qpn();
  pair.start_psn = stream.start_psn;
  pair.start_lcn = Lcn(stream.start_lcn);
  pair.mcp = stream.mcp_wanted;
  pair.flags = flags_of(stream.kind());
  pair.receive_credits = stream.receive_credits();
  pair.max_dest_rd_atomic = stream.max_dest_rd_atomic();
  pair.msg_max = stream.window_bytes();
  return pair;
}

base::Status StreamTable::connect(StreamQp& stream, const MgmtPair& mine, const MgmtPair& theirs,
                                  Link& link) {
  if (theirs.service != Service::kStream || theirs.flags != flags_of(stream.kind())) {
    return base::Error("the peer's queue pair has another service or is of another kind", EINVAL);
  }
  StreamPeer peer;
  peer.lid = link.remote_lid();
  peer.qpn = theirs.qpn;
  peer.mcp = link.mcp();
  if (mine.mcp != 0) peer.mcp = std::min(peer.mcp, mine.mcp);
  if (theirs.mcp != 0) peer.mcp = std::min(peer.mcp, theirs.mcp);
  peer.receive_number = first_number(theirs.start_lcn);
  peer.receive_psn = theirs.start_psn;
  peer.send.number = first_number(Lcn(stream.start_lcn));
  peer.send.psn = stream.start_psn;
  peer.send.peer_window = theirs.msg_max;
  peer.send.receive_credits = theirs.receive_credits;
  peer.send.max_rd_atomic = theirs.max_dest_rd_atomic;
  return stream.connect(link, peer);
}

bool StreamTable::on_cell(const Link& link, const CellView& cell, CellError error,
                          std::size_t bytes, base::Time now) {
  StreamQp* stream = find(cell.header.dqpn);
  if (stream == nullptr) return false;
  if (error == CellError::kNone) {
    stream->on_cell(cell, bytes, link, now);
  } else {
    stream->on_malformed();
  }
  return true;
}

void StreamTable::on_time(base::Time now) {
  for (const auto& [qpn, stream] : streams_) {
    if (stream->deadline() <= now) stream->on_time(now);
    stream->end_batch(now);
  }
}

void StreamTable::end_batch(base::Time now) {
  for (const auto& [qpn, stream] : streams_) stream->end_batch(now);
}

bool StreamTable::transmit(base::Time now) {
  bool has_more = false;
  for (const auto& [qpn, stream] : streams_) {
    has_more |= stream->transmit(now, kStreamCellsPerIteration) == kStreamCellsPerIteration;
  }
  return has_more;
}

void StreamTable::on_link_back(const Link& link, base::Time now) {
  for (const auto& [qpn, stream] : streams_) {
    if (stream->link() == &link) stream->on_link_back(now);
  }
}

void StreamTable::on_peer_restarted(const Link& link) {
  for (const auto& [qpn, stream] : streams_) {
    if (stream->link() == &link) stream->enter_error();
  }
}

base::Time StreamTable::deadline() const {
  base::Time at = base::kNever;
  for (const auto& [qpn, stream] : streams_) at = std::min(at, stream->deadline());
  return at;
}

}  // namespace splitnic::fabric
